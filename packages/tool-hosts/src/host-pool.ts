import type { HostedTool, Placing, ToolFile } from 'recourse-server/tools/tool';
import { isOwnFault, toOffence, toRestartReason } from './classify-death.ts';
import type { LoadedToolFile, ToolFileHosts } from './directory/load-tool-file.ts';
import { Discovery } from './discovery.ts';
import { HostStock, type StockSettings } from './host-stock.ts';
import { type FileGroup, findExpectedVariables, HostedFiles } from './hosted-files.ts';
import type { Death, Offence, RestartReason } from './isolation-observer.ts';
import {
  dropVersion,
  type HostedFile,
  type HostWaiter,
  isSpare,
  type PoolMember,
  type Seating,
  settleOverdue,
} from './pool-records.ts';
import type { HostLoad, RunningCall } from './tool-host.ts';
import { Turns } from './turns.ts';

type HostPoolSettings = StockSettings & {
  /** Calls after which a host is replaced. */
  readonly maxCalls: number;
  /** Whether a tool that asks for the variable of this name gets it: it is allowed, and there is one. */
  readonly isGranted: (name: string) => boolean;
  /** Whether the operator wants the tool of this name to share its processes with no other file. */
  readonly isOwn: (tool: string) => boolean;
  /** `restart`: why it must be replaced, null where it need not be. `file`: whose work it was, as far as is known. */
  readonly onEnded: (member: PoolMember, death: Death, restart: RestartReason | null, file: ToolFile | null) => void;
  /** A file lost its place among others. */
  readonly onOffence: (file: ToolFile, offence: Offence) => void;
};

const KEEPS_ENDING = 'its process keeps ending';
// What goes on after a call for longer than this is there to stay.
const UNREST_MS = 10_000;

/**
 * Hosts for tool files. Files that were granted the same variables share theirs, each with a turn of its own; a file
 * that asks for it or misbehaves has processes of its own. Grows where calls wait; shrinks to `minHosts` when nothing
 * happens.
 */
export class HostPool implements ToolFileHosts {
  readonly members: ReadonlySet<PoolMember>;
  readonly #stock: HostStock;
  readonly #turns: Turns;
  readonly #discovery: Discovery;
  readonly #files = new HostedFiles();
  readonly #settings: HostPoolSettings;

  constructor(settings: HostPoolSettings) {
    const { now, maxCalls, isGranted } = settings;
    this.#settings = settings;
    const stock = new HostStock(settings, {
      onReady: (member) => this.#onReady(member),
      onBroken: (member, reason) => this.#onBroken(member, reason),
      onState: (member) => this.#onState(member),
      onEnded: (member, death) => this.#onEnded(member, death),
    });
    this.#stock = stock;
    this.members = stock.members;
    const onLoaded = (...loaded: [PoolMember, HostedFile, HostLoad]): void => this.#onLoaded(...loaded);
    this.#turns = new Turns({ stock, maxCalls, now, onLoaded });
    this.#discovery = new Discovery({ now, isGranted, stock, onDone: (member) => this.#turns.settle(member) });
  }

  /** Reads what a version declares, in a process in which others are read, too. Never rejects. */
  async load(file: ToolFile): Promise<LoadedToolFile> {
    const { isGranted, isOwn } = this.#settings;
    const hosted = this.#files.create(file, findExpectedVariables(file, isGranted));
    const loaded = await this.#discovery.readWithVariables(hosted);
    if (loaded.kind === 'failed') {
      this.retire(file);
      return loaded;
    }
    hosted.learn(loaded, isGranted);
    hosted.isOwn ||= loaded.tools.some(({ name }) => isOwn(name));
    this.#keepWarm();
    return loaded;
  }

  retire(file: ToolFile): void {
    const hosted = this.#files.retire(file);
    if (hosted === undefined) return;
    for (const member of this.members) {
      if (member.phase === 'busy' && member.turn === hosted) continue;
      dropVersion(member, hosted);
      this.#turns.settle(member);
    }
    this.#files.forget(hosted);
  }

  listGroups(): readonly FileGroup[] {
    return this.#files.listGroups(this.#settings.now());
  }

  /** The name of this version of the file in messages to hosts. */
  versionOf(file: ToolFile): string {
    return this.#files.find(file).version;
  }

  /** Whether calls of this tool have no other beside them. */
  isAlone(tool: HostedTool): boolean {
    return tool.concurrency === 1 || this.#files.find(tool.file).runsAlone(tool.name, this.#settings.now());
  }

  placingOf(tool: HostedTool): Placing {
    if (this.isAlone(tool)) return 'alone';
    return this.#files.find(tool.file).hasOwnHosts(this.#settings.now()) ? 'own' : 'shared';
  }

  /** A seat in a host that has loaded the file; null where the call must wait for one. */
  takeSeat(file: ToolFile, seating: Seating): PoolMember | null {
    return this.#turns.takeSeat(this.#files.find(file), seating);
  }

  /** Hands over a seat as soon as there is one; gives the way to stop waiting. */
  obtain(file: ToolFile, waiter: HostWaiter): () => void {
    const hosted = this.#files.find(file);
    const member = this.#turns.takeSeat(hosted, waiter);
    const waitMs = hosted.restartAt - this.#settings.now();
    if (member === null && (waitMs <= 0 || hosted.members.size > 0)) return this.#turns.wait(hosted, waiter);
    if (member !== null) waiter.take(member);
    else waiter.fail(KEEPS_ENDING, waitMs);
    return () => undefined;
  }

  /** A call in this host has ended, and its seat is free. */
  giveBack(member: PoolMember, end: 'answered' | 'moved'): void {
    member.seats -= 1;
    if (end === 'answered') member.turn?.noteAnswer();
    if (member.closedFor === 'overdue') settleOverdue(member);
    this.#turns.settle(member);
  }

  /** A call went on after its deadline: its host takes no more, and ends as soon as the others in it have ended. */
  endOverdue(member: PoolMember, call: RunningCall, reason: 'timeout' | 'abort'): void {
    if (call.isOver) return;
    call.isOverdue = true;
    if (member.closedFor !== 'left') member.closedFor = 'overdue';
    if (reason === 'timeout' && call.began && member.turn !== null) this.#offend(member.turn, 'timeout');
    settleOverdue(member);
  }

  /** This host answers again. */
  reopen(member: PoolMember): void {
    if (member.closedFor === 'silent') member.closedFor = null;
    this.#turns.settle(member);
  }

  /** A call of this tool kept others of its host waiting. */
  noteBlock({ file, name }: HostedTool): void {
    this.#files.find(file).noteBlock(name, this.#settings.now());
  }

  /** Looks again at files whose calls wait. Called ten times a second. */
  serve(): void {
    this.#turns.serve();
  }

  /** Ends what has been idle for long, and starts what is missing. Called every few seconds. */
  tidy(): void {
    const now = this.#settings.now();
    for (const { restlessSince, turn, owner } of this.members)
      if (now - (restlessSince ?? now) > UNREST_MS && turn !== null && owner === null) this.#offend(turn, 'unrest');
    this.#stock.tidy();
    this.#files.tidy();
    this.#fillUp();
  }

  /** Ends all processes at once; none starts any more. */
  killAll(): void {
    this.#stock.killAll();
  }

  whenEmpty(): Promise<void> {
    return this.#stock.whenEmpty();
  }

  #onReady(member: PoolMember): void {
    if (this.#discovery.takes(member)) return;
    member.phase = 'idle';
    this.#turns.settle(member);
    this.#turns.prepare(member);
    this.#fillUp();
  }

  #onBroken(member: PoolMember, reason: string): void {
    if (this.#discovery.takes(member)) return;
    const hasOthers = this.#stock.hasLiving(member.group);
    for (const hosted of this.#turns.waitingIn(member.group)) {
      hosted.noteTrouble(this.#settings.now());
      if (!hasOthers) this.#turns.failWaiting(hosted, reason);
    }
  }

  #onLoaded(member: PoolMember, hosted: HostedFile, load: HostLoad): void {
    if (load.kind === 'refused') return;
    if (load.kind === 'loaded') {
      if (load.trace !== null && member.owner === null) this.#offend(hosted, 'taint');
      return;
    }
    hosted.noteTrouble(this.#settings.now());
    hosted.members.delete(member);
    member.turn = null;
    member.host.kill('recycle'); // Node keeps what came of an import: here it would fail for ever.
    // A process may end for what another file did; and where the file has others, its calls may still have one of them.
    const isItsFault = load.kind === 'failed' || hosted.restartAt > this.#settings.now();
    if (isItsFault && hosted.members.size === 0) this.#turns.failWaiting(hosted, load.reason);
  }

  #onState(member: PoolMember): void {
    const { host, turn } = member;
    member.restlessSince = host.unrest === null ? null : (member.restlessSince ?? this.#settings.now());
    const hosted = host.spoiler === null ? turn : this.#files.find(host.spoiler.file);
    if (host.isSpent && hosted !== null) this.#offend(hosted, 'taint');
    if (member.phase !== 'starting') this.#turns.settle(member);
  }

  #offend(hosted: HostedFile, offence: Offence): void {
    const now = this.#settings.now();
    hosted.noteOffence(now);
    if (offence === 'crash' || offence === 'memory' || offence === 'timeout') hosted.isDangerous = true;
    this.#settings.onOffence(hosted.file, offence);
    for (const member of hosted.members) Object.assign(member, { group: hosted.toGroup(now), owner: hosted });
  }

  #onEnded(member: PoolMember, death: Death): void {
    const { turn, phase } = member;
    const restart = toRestartReason(death);
    const hosted = death.leaver === null ? turn : this.#files.find(death.leaver.file);
    turn?.members.delete(member);
    const isAttributed = phase === 'busy' || death.leaver !== null || death.exitCode !== null;
    if (hosted !== null) this.#charge(hosted, restart, isAttributed ? toOffence(restart) : null);
    this.#settings.onEnded(member, death, restart, hosted?.file ?? null);
    // As warm as before: the next call should not pay for this one.
    if (restart !== null && hosted?.isLoaded) this.#replace(hosted);
    this.#fillUp();
  }

  #fillUp(): void {
    this.#turns.serve();
    this.#keepWarm();
  }

  /** A host ended while it ran this file. */
  #charge(hosted: HostedFile, restart: RestartReason | null, offence: Offence | null): void {
    const { now } = this.#settings;
    if (offence !== null) this.#offend(hosted, offence);
    if (isOwnFault(restart)) hosted.noteTrouble(now());
    if (hosted.members.size === 0 && hosted.restartAt > now()) this.#turns.failWaiting(hosted, KEEPS_ENDING);
    this.#files.forget(hosted);
  }

  #replace(hosted: HostedFile, when: 'at once' | 'after a pause' = 'at once'): void {
    const now = this.#settings.now();
    const waitMs = hosted.restartAt - now;
    const group = hosted.toGroup(now);
    const others = [...this.members].filter((member) => member.group === group);
    // After a pause its calls may have started one themselves.
    if (hosted.retired || others.some((member) => when === 'after a pause' || isSpare(member))) return;
    if (waitMs > 0) setTimeout(() => this.#replace(hosted, 'after a pause'), waitMs).unref();
    else if (this.#stock.hasRoom()) this.#stock.start(hosted);
  }

  #keepWarm(): void {
    while (this.#stock.isShort() && this.#stock.hasRoom()) {
      const hosted = this.#files.findLeastServed(this.members, this.#settings.now());
      if (hosted === null || this.#stock.start(hosted) === null) return;
    }
  }
}
