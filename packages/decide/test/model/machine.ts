import type { StartTimer } from 'recourse-server/executor/deadline';

// A machine on which every step that a process asks for waits until the schedule lets it happen, and time passes when it says so.

/** How a step goes. `lost`: it is done, and who asked is told that it failed. `refused`: it is not done. `slow`: it is answered later. */
export type Fault = 'none' | 'lost' | 'refused' | 'slow';

/** A process as the machine sees it. */
export type Life = {
  state: 'live' | 'frozen' | 'dead';
  /** How many of its steps went wrong. */
  faults: number;
};

type Step = { readonly life: Life; readonly run: (fault: Fault) => Promise<void> };
type Timer = { readonly life: Life; readonly at: number; readonly listener: () => void };

const perform = async <Result>(
  fault: Fault,
  life: Life,
  act: () => Result | Promise<Result>,
): Promise<PromiseSettledResult<Awaited<Result>>> => {
  if (fault === 'none' || fault === 'slow') {
    const [done] = await Promise.allSettled([(async () => act())()]);
    return done;
  }
  life.faults += 1;
  if (fault === 'lost') await Promise.allSettled([(async () => act())()]);
  return AWAY;
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The steps and timers of all processes. `passTime`: time passes for what they keep. */
export class Machine {
  readonly #passTime: (ms: number) => Promise<void>;
  #steps: Step[] = [];
  #timers: Timer[] = [];
  #now = 0;
  /** Steps are done as soon as they are asked for. */
  #isAtOnce = false;
  #underWay = 0;

  constructor(passTime: (ms: number) => Promise<void>) {
    this.#passTime = passTime;
  }

  readonly now = (): number => this.#now;

  /** Asks for a step: what it comes to once the schedule has let it happen; never, where its process died before. */
  ask<Result>(life: Life, act: () => Result | Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const run = async (fault: Fault): Promise<void> => {
        const done = await perform(fault, life, act);
        const answer = async (): Promise<void> => {
          if (life.state === 'dead') return;
          if (done.status === 'fulfilled') resolve(done.value);
          else reject(done.reason);
        };
        if (fault === 'slow') this.#steps.push({ life, run: answer });
        else await answer();
      };
      if (this.#isAtOnce && life.state === 'live') void this.#doAtOnce(run);
      else this.#steps.push({ life, run });
    });
  }

  async #doAtOnce(run: Step['run']): Promise<void> {
    this.#underWay += 1;
    await run('none');
    this.#underWay -= 1;
  }

  startTimer(life: Life): StartTimer {
    return (listener, ms) => {
      const timer = { life, at: this.#now + ms, listener };
      this.#timers.push(timer);
      return () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      };
    };
  }

  /** Lets one of the steps happen that live processes have asked for; tells whether there was one. */
  async step(pick: number, fault: Fault): Promise<boolean> {
    const ready = this.#steps.filter(({ life }) => life.state === 'live');
    const chosen = ready[pick % Math.max(1, ready.length)];
    if (chosen === undefined) return false;
    this.#steps = this.#steps.filter((step) => step !== chosen);
    await chosen.run(fault);
    await turn();
    return true;
  }

  /** Lets all steps happen, in the order in which they were asked for. */
  async drain(life?: Life): Promise<void> {
    for (let done = 0; ; done += 1) {
      if (done > MOST_STEPS) throw new Error('A step asks for the next one for ever.');
      const next = this.#steps.find((step) => step.life.state === 'live' && (life ?? step.life) === step.life);
      if (next === undefined) return;
      this.#steps = this.#steps.filter((step) => step !== next);
      await next.run('none');
      await turn();
    }
  }

  /** Ends a process. `sent`: what it has asked for happens yet. */
  async kill(life: Life, sent: boolean): Promise<void> {
    life.state = 'dead';
    const own = this.#steps.filter((step) => step.life === life);
    this.#steps = this.#steps.filter((step) => step.life !== life);
    this.#timers = this.#timers.filter((timer) => timer.life !== life);
    if (sent) for (const { run } of own) await run('none');
  }

  async pass(ms: number): Promise<void> {
    this.#now += ms;
    await this.#passTime(ms);
    await this.ring();
  }

  /** Calls back what was due in processes that live. */
  async ring(): Promise<void> {
    const due = this.#timers.filter(({ life, at }) => life.state === 'live' && at <= this.#now);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { listener } of due) listener();
    await turn();
  }

  /** Does something of which every step happens at once. */
  async atOnce(act: () => void): Promise<void> {
    this.#isAtOnce = true;
    act();
    do await turn();
    while (this.#underWay > 0);
    await turn();
    this.#isAtOnce = false;
  }
}

const MOST_STEPS = 2000;
const AWAY = { status: 'rejected', reason: new Error('The store is away.') } as const;
