import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy on loopback whose network can be broken by hand. */
export type TcpProxy = {
  readonly port: number;
  /** Connections of clients. While frozen the proxy does not notice that one has gone. */
  readonly connections: () => number;
  /** Resets every connection; new ones are accepted. */
  readonly cut: () => void;
  /** Keeps every connection and forwards nothing more: a black hole. New connections are accepted and hang, too. */
  readonly freeze: () => void;
  /** Forwards again, what was held back first. */
  readonly thaw: () => void;
  /** Loses all bytes, in either direction. Connections stay, and new ones are accepted. */
  readonly drop: () => void;
  /** Forwards again. A connection that has lost something is reset: what would follow makes no sense without it. */
  readonly deliver: () => void;
  /** New connections are refused; those that exist go on. */
  readonly refuse: () => void;
  /** New connections are accepted again, on the same port. */
  readonly accept: () => Promise<void>;
  /** From now on bytes arrive this many milliseconds later, in either direction. 0 = at once. */
  readonly delay: (ms: number) => void;
  /**
   * Before Redis: the server gets each command at once, and what it answers arrives late. Of the next `times` commands that
   * have this word, which is their name, a step of a script or an argument, or have this part of one; with `ms` for each. What else the same
   * connection is answered waits as well, for answers come in order. Tells how many have been held.
   */
  readonly holdAnswers: (hold: AnswerHold) => () => number;
  /** The same of all such commands from now on, in place of what was slowed before; null: of none. */
  readonly slowAnswers: (slow: Omit<AnswerHold, 'times'> | null) => void;
  readonly close: () => void;
};

export type AnswerHold = {
  readonly word: string | { readonly part: string };
  readonly times: number;
  readonly ms: number;
};

const toBytes = (word: AnswerHold['word']): string => (typeof word === 'string' ? `\r\n${word}\r\n` : word.part);

/** What all connections of one proxy obey. */
type Conditions = { frozen: boolean; dropping: boolean; delayMs: number; holds: (AnswerHold & { held: number })[] };

/** One direction of one connection. */
type Lane = {
  readonly thaw: () => void;
  readonly freeze: () => void;
  readonly hasLost: () => boolean;
  /** What comes from now on arrives so many milliseconds from now, or later. */
  readonly hold: (ms: number) => void;
};

const createLane = (
  from: Socket,
  to: Socket,
  conditions: Conditions,
  passed: (chunk: Buffer | string) => void = () => undefined,
): Lane => {
  const held: { readonly dueAt: number; readonly chunk: Buffer | string }[] = [];
  let ended = false;
  let lost = false;
  let heldUntil = 0;
  let timer: NodeJS.Timeout | undefined;

  const drain = (): void => {
    clearTimeout(timer);
    if (conditions.frozen) return;
    for (let next = held[0]; next !== undefined; next = held[0]) {
      const waitMs = next.dueAt - performance.now();
      if (waitMs > 0) {
        timer = setTimeout(drain, waitMs);
        return;
      }
      held.shift();
      to.write(next.chunk);
    }
    if (ended) to.end();
  };

  from.on('data', (chunk) => {
    if (conditions.dropping) {
      lost = true;
      return;
    }
    passed(chunk);
    held.push({ dueAt: Math.max(heldUntil, performance.now() + conditions.delayMs), chunk });
    drain();
  });
  from.on('end', () => {
    ended = true;
    drain();
  });
  to.on('close', () => clearTimeout(timer));
  const freeze = (): void => {
    from.pause();
  };
  if (conditions.frozen) freeze();
  const thaw = (): void => {
    from.resume();
    drain();
  };
  const hold = (ms: number): void => {
    heldUntil = Math.max(heldUntil, performance.now() + ms);
  };
  return { freeze, thaw, hold, hasLost: () => lost };
};

/** One client's connection, and ours to the target on its behalf. */
type Pair = { readonly client: Socket; readonly target: Socket; readonly lanes: readonly Lane[] };

const createPair = (client: Socket, targetPort: number, conditions: Conditions): Pair => {
  const target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true });
  for (const [socket, other] of [
    [client, target],
    [target, client],
  ] as const) {
    socket.setNoDelay();
    // An error is a broken connection and nothing else here: its other half breaks as well.
    socket.on('error', () => other.resetAndDestroy());
  }
  const answers = createLane(target, client, conditions);
  // The clients of these tests write a small command in one piece.
  const noteCommand = (chunk: Buffer | string): void => {
    for (const hold of conditions.holds) {
      if (hold.held >= hold.times || !chunk.includes(toBytes(hold.word))) continue;
      hold.held += 1;
      answers.hold(hold.ms);
    }
  };
  return { client, target, lanes: [createLane(client, target, conditions, noteCommand), answers] };
};

const listen = async (server: Server, port: number): Promise<number> => {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy listens on no TCP port.');
  return address.port;
};

/** Starts a proxy to a port on loopback; rejects where it cannot listen. */
export const startTcpProxy = async ({ to }: { readonly to: number }): Promise<TcpProxy> => {
  const conditions: Conditions = { frozen: false, dropping: false, delayMs: 0, holds: [] };
  const pairs = new Set<Pair>();

  const createListener = (): Server =>
    // Half-open: a client that has sent all it has still wants its answer.
    createServer({ allowHalfOpen: true }, (client) => {
      const pair = createPair(client, to, conditions);
      pairs.add(pair);
      client.on('close', () => pairs.delete(pair));
    });

  let listener = createListener();
  const port = await listen(listener, 0);
  const cut = (which: (pair: Pair) => boolean = () => true): void => {
    for (const { client, target } of [...pairs].filter(which)) {
      client.resetAndDestroy();
      target.destroy();
    }
  };
  const eachLane = (act: (lane: Lane) => void): void => {
    for (const { lanes } of pairs) lanes.forEach(act);
  };

  return {
    port,
    connections: () => pairs.size,
    cut: () => cut(),
    drop: () => {
      conditions.dropping = true;
    },
    deliver: () => {
      conditions.dropping = false;
      cut(({ lanes }) => lanes.some(({ hasLost }) => hasLost()));
    },
    freeze: () => {
      conditions.frozen = true;
      eachLane((lane) => lane.freeze());
    },
    thaw: () => {
      conditions.frozen = false;
      eachLane((lane) => lane.thaw());
    },
    refuse: () => {
      listener.close();
    },
    accept: async () => {
      if (listener.listening) return;
      listener = createListener();
      await listen(listener, port);
    },
    delay: (ms) => {
      conditions.delayMs = ms;
    },
    holdAnswers: (terms) => {
      const hold = { ...terms, held: 0 };
      conditions.holds.push(hold);
      return () => hold.held;
    },
    slowAnswers: (slow) => {
      conditions.holds = slow === null ? [] : [{ ...slow, times: Number.POSITIVE_INFINITY, held: 0 }];
    },
    close: () => {
      listener.close();
      cut();
    },
  };
};
