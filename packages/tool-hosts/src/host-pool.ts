import type { HostedTool, Placing, ToolFile } from 'recourse-server/tools/tool';
import {
  type Death,
  decideOffence,
  findRestartReason,
  isOwnFault,
  type Offence,
  type RestartReason,
} from './classify-death.ts';
import type { LoadedToolFile, ToolFileHosts } from './directory/load-tool-file.ts';
import { Discovery } from './discovery.ts';
import { HostScheduler } from './host-scheduler.ts';
import { HostStock, type StockSettings } from './host-stock.ts';
import { findExpectedVariables, HostedFiles } from './hosted-files.ts';
import type { HostedFile, HostWaiter, PoolMember, SlotRequest } from './pool-records.ts';
import type { HostLoad, RunningCall } from './tool-host.ts';

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
const PENDING_WORK_MS = 10_000;

/**
 * Hosts for tool files. Files that were granted the same variables share theirs, one at a time; a file that asks for it or
 * misbehaves has processes of its own. Grows where calls wait; shrinks to `minHosts` when nothing happens. The states of
 * a host are the table of `pool-records.ts`; which calls it runs, `host-scheduler.ts` decides; this class decides what loads,
 * faults and deaths mean for files.
 */
export class HostPool implements ToolFileHosts {
  readonly members: ReadonlySet<PoolMember>;
  readonly #stock: HostStock;
  readonly #scheduler: HostScheduler;
  readonly #discovery: Discovery;
  readonly #files = new HostedFiles();
  readonly #settings: HostPoolSettings;

  constructor(settings: HostPoolSettings) {
    const { now, maxCalls, isGranted } = settings;
    this.#settings = settings;
    const stock = new HostStock(settings, {
      onStarted: (member, problem) => this.#onStarted(member, problem),
      onState: (member) => this.#onState(member),
      onEnded: (member, death) => this.#onEnded(member, death),
    });
    this.#stock = stock;
    this.members = stock.members;
    const onLoaded = (...loaded: [PoolMember, HostedFile, HostLoad]): void => this.#onLoaded(...loaded);
    this.#scheduler = new HostScheduler({ stock, maxCalls, now, onLoaded });
    this.#discovery = new Discovery({ now, isGranted, stock, onDone: (member) => this.#scheduler.release(member) });
  }

  /** Reads what a version declares, in a process in which others are read, too. Never rejects. */
  async load(file: ToolFile): Promise<LoadedToolFile> {
    const { isGranted, isOwn } = this.#settings;
    const hosted = this.#files.create(file, findExpectedVariables(file, isGranted));
    const loaded = await this.#discovery.readWithVariables(hosted);
    if (loaded.kind !== 'loaded') {
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
      if (member.phase === 'busy' && member.assigned === hosted) continue;
      member.unload(hosted);
      this.#scheduler.release(member);
    }
    this.#files.forget(hosted);
  }

  listGroups(): ReturnType<HostedFiles['listGroups']> {
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

  /** A slot in a host that has loaded the file; null where the call must wait for one. */
  tryAcquire(file: ToolFile, request: SlotRequest): PoolMember | null {
    return this.#scheduler.tryAcquire(this.#files.find(file), request);
  }

  /** Hands over a slot as soon as there is one; gives the way to stop waiting. */
  acquire(file: ToolFile, waiter: HostWaiter): () => void {
    const hosted = this.#files.find(file);
    const member = this.#scheduler.tryAcquire(hosted, waiter);
    const waitMs = hosted.restartAt - this.#settings.now();
    if (member === null && (waitMs <= 0 || hosted.members.size > 0)) return this.#scheduler.acquire(hosted, waiter);
    if (member !== null) waiter.take(member);
    else waiter.fail(KEEPS_ENDING, waitMs);
    return () => undefined;
  }

  /** A call in this host has ended, and its slot is free. */
  release(member: PoolMember, end: 'answered' | 'moved'): void {
    member.slots -= 1;
    if (end === 'answered') member.assigned?.noteAnswer();
    if (member.state === 'overdue') member.endIfOverdue();
    this.#scheduler.release(member);
  }

  /** A call went on after its deadline: its host takes no more, and ends as soon as the others in it have ended. */
  endOverdue(member: PoolMember, call: RunningCall, reason: 'timeout' | 'abort'): void {
    if (call.isOver) return;
    call.isOverdue = true;
    if (member.state !== 'left') member.state = 'overdue';
    if (reason === 'timeout' && call.began && member.assigned !== null) this.#offend(member.assigned, 'timeout');
    member.endIfOverdue();
  }

  /** This host answers again. */
  reopen(member: PoolMember): void {
    member.state = 'serving';
    this.#scheduler.release(member);
  }

  /** A call of this tool kept others of its host waiting. */
  noteBlock({ file, name }: HostedTool): void {
    this.#files.find(file).noteBlock(name, this.#settings.now());
  }

  /** Looks again at files whose calls wait. Called ten times a second. */
  serve(): void {
    this.#scheduler.serve();
  }

  /** Ends what has been idle for long, and starts what is missing. Called every few seconds. */
  tidy(): void {
    const now = this.#settings.now();
    for (const { pendingSince, assigned, owner } of this.members)
      if (now - (pendingSince ?? now) > PENDING_WORK_MS && assigned !== null && owner === null)
        this.#offend(assigned, 'unrest');
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

  #onStarted(member: PoolMember, problem: string | null): void {
    if (this.#discovery.owns(member)) return;
    if (problem === null) {
      member.state = 'idle';
      this.#scheduler.release(member);
      this.#scheduler.prepare(member);
      this.#fillUp();
      return;
    }
    const hasOthers = this.#stock.living(member.group).length > 0;
    for (const hosted of this.#scheduler.waitingIn(member.group)) {
      hosted.noteTrouble(this.#settings.now());
      if (!hasOthers) this.#scheduler.failWaiting(hosted, problem);
    }
  }

  #onLoaded(member: PoolMember, hosted: HostedFile, load: HostLoad): void {
    if (load.kind === 'refused') return;
    if (load.kind === 'loaded') {
      if (load.trace !== null && member.owner === null) this.#offend(hosted, 'taint');
      return;
    }
    hosted.noteTrouble(this.#settings.now());
    member.assign(null);
    member.host.kill('recycle'); // Node keeps what came of an import: here it would fail each time.
    // A process may end for what another file did; and where the file has others, its calls may still have one of them.
    const isItsFault = load.kind === 'failed' || hosted.restartAt > this.#settings.now();
    if (isItsFault && hosted.members.size === 0) this.#scheduler.failWaiting(hosted, load.reason);
  }

  #onState(member: PoolMember): void {
    const { host, assigned } = member;
    member.pendingSince = host.pendingWork === null ? null : (member.pendingSince ?? this.#settings.now());
    const hosted = host.culprit === null ? assigned : this.#files.find(host.culprit.file);
    if (host.isUnusable && hosted !== null) this.#offend(hosted, 'taint');
    this.#scheduler.release(member);
  }

  #offend(hosted: HostedFile, offence: Offence): void {
    const now = this.#settings.now();
    hosted.noteOffence(now);
    if (offence === 'crash' || offence === 'memory' || offence === 'timeout') hosted.isDangerous = true;
    this.#settings.onOffence(hosted.file, offence);
    for (const member of hosted.members) Object.assign(member, { group: hosted.groupAt(now), owner: hosted });
  }

  #onEnded(member: PoolMember, death: Death): void {
    const { assigned, phase } = member;
    const restart = findRestartReason(death);
    const hosted = death.leaver === null ? assigned : this.#files.find(death.leaver.file);
    assigned?.members.delete(member);
    const isAttributed = phase === 'busy' || death.leaver !== null || death.exitCode !== null;
    if (hosted !== null) this.#charge(hosted, restart, isAttributed ? decideOffence(restart) : null);
    this.#settings.onEnded(member, death, restart, hosted?.file ?? null);
    // As warm as before: the next call should not pay for this one.
    if (restart !== null && hosted?.isLoaded) this.#replace(hosted);
    this.#fillUp();
  }

  #fillUp(): void {
    this.#scheduler.serve();
    this.#keepWarm();
  }

  /** A host ended while it ran this file. */
  #charge(hosted: HostedFile, restart: RestartReason | null, offence: Offence | null): void {
    const { now } = this.#settings;
    if (offence !== null) this.#offend(hosted, offence);
    if (isOwnFault(restart)) hosted.noteTrouble(now());
    if (hosted.members.size === 0 && hosted.restartAt > now()) this.#scheduler.failWaiting(hosted, KEEPS_ENDING);
    this.#files.forget(hosted);
  }

  #replace(hosted: HostedFile, when: 'at once' | 'after a pause' = 'at once'): void {
    const now = this.#settings.now();
    const waitMs = hosted.restartAt - now;
    const group = hosted.groupAt(now);
    const others = [...this.members].filter((member) => member.group === group);
    // After a pause its calls may have started one themselves.
    if (hosted.retired || others.some(({ isSpare }) => when === 'after a pause' || isSpare)) return;
    if (waitMs > 0) setTimeout(() => this.#replace(hosted, 'after a pause'), waitMs).unref();
    else if (this.#stock.mayStart) this.#stock.start(hosted);
  }

  #keepWarm(): void {
    while (this.#stock.spare < 0 && this.#stock.mayStart) {
      const hosted = this.#files.findLeastServed(this.members, this.#settings.now());
      if (hosted === null || this.#stock.start(hosted) === null) return;
    }
  }
}
