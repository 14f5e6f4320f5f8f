import { isIP, type LookupFunction, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressPolicy } from './address-policy.ts';
import { codeOf } from './error-code.ts';
import type { Lookup } from './lookup.ts';

/** The host is, or resolves to, an address the policy refuses. No packet was sent to it. */
export class AddressRefusedError extends Error {
  override readonly name: string = 'AddressRefusedError';
}

/** No connection came about, so no request was sent. `code` is the system's, TLS's or undici's word for why. */
export class ConnectFailure extends Error {
  override readonly name: string = 'ConnectFailure';
  readonly stage: 'lookup' | 'connect';
  readonly code: string;

  constructor(stage: 'lookup' | 'connect', cause: unknown) {
    super(`No connection: ${stage} failed.`, { cause });
    this.stage = stage;
    this.code = codeOf(cause);
  }
}

/** What a connector needs. `timeoutMs` bounds name look-up, TCP and TLS together. */
type GuardedConnectorOptions = {
  readonly mayConnect: AddressPolicy;
  readonly lookup: Lookup;
  readonly timeoutMs: number;
};

/**
 * A connector for an undici Agent that opens sockets to permitted addresses only. A literal address is judged here,
 * because the socket never looks it up (undici 8.12 and Node 26: `connect.lookup` is skipped for IP literals); a name
 * is judged by all its addresses, and the socket uses that very answer, so that a second DNS answer cannot differ.
 */
export const createGuardedConnector = (options: GuardedConnectorOptions): buildConnector.connector => {
  const connect = createPacedConnector({
    timeout: options.timeoutMs,
    allowH2: false,
    autoSelectFamily: true,
    lookup: createGuardedLookup(options),
  });
  return (target, callback) => {
    if (isIP(target.hostname) !== 0 && !options.mayConnect(target.hostname)) {
      process.nextTick(callback, new AddressRefusedError(`${target.hostname} is not permitted.`), null);
      return;
    }
    connect(target, (...[error, socket]) => {
      if (error === null) callback(null, socket);
      else callback(classifyConnectError(error), null);
    });
  };
};

const classifyConnectError = (error: Error): Error =>
  error instanceof AddressRefusedError || error instanceof ConnectFailure
    ? error
    : new ConnectFailure('connect', error);

const createGuardedLookup =
  ({ lookup, mayConnect }: GuardedConnectorOptions): LookupFunction =>
  (hostname, { all }, callback) => {
    const answer = lookup(hostname).then(
      (addresses) => checkAddresses(hostname, addresses, mayConnect),
      (cause: unknown) => new ConnectFailure('lookup', cause),
    );
    // Called from nextTick: what the socket throws must not come back as a rejection of the look-up.
    const reply = (found: Permitted | Error): void => {
      if (found instanceof Error) callback(found, '');
      else if (all === true) callback(null, [...found]);
      else callback(null, found[0].address, found[0].family);
    };
    answer.then((found) => process.nextTick(reply, found)).catch(reply);
  };

type Address = { readonly address: string; readonly family: number };
type Permitted = readonly [Address, ...Address[]];

/** All of the addresses, or the error where there is none or one of them is not permitted. */
const checkAddresses = (
  hostname: string,
  addresses: readonly string[],
  mayConnect: AddressPolicy,
): Permitted | Error => {
  const [first, ...others] = addresses.map((address) => ({ address, family: isIP(address) }));
  if (first === undefined) return new ConnectFailure('lookup', { code: 'ENODATA' });
  if (!addresses.every(mayConnect)) return new AddressRefusedError(`${hostname} has an address that is not permitted.`);
  return [first, ...others];
};

// One read of a socket. Of the worst there is, a thousand answers without an end or ten thousand chunks of one byte, the
// parser takes some 10 ms for as much.
const BYTES_A_SLICE = 65_536;

/**
 * A connector for an undici Agent: whatever comes on all its sockets, other work has its turn after 64 KiB of it. undici
 * (8.12) reads a socket until it is empty, and the system fills it meanwhile.
 */
export const createPacedConnector = (options: buildConnector.BuildOptions): buildConnector.connector => {
  const connect = buildConnector(options);
  let left = BYTES_A_SLICE;
  const waiting = new Set<Socket>();
  const nextTurn = (): void => {
    left = BYTES_A_SLICE;
    const sockets = [...waiting];
    waiting.clear();
    for (const socket of sockets) socket.emit('readable');
  };
  const pace = (socket: Socket): Socket => {
    const read: Socket['read'] = socket.read.bind(socket);
    socket.read = (size) => {
      // The last words of a socket that has ended are no flood, and no turn would bring them.
      if (left <= 0 && !socket.readableEnded && !socket.destroyed) {
        waiting.add(socket);
        return null;
      }
      const chunk: unknown = read(size);
      if (!(chunk instanceof Uint8Array)) return chunk;
      if (left === BYTES_A_SLICE) setImmediate(nextTurn);
      left -= chunk.byteLength;
      return chunk;
    };
    return socket;
  };
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error === null) callback(null, pace(socket));
      else callback(error, null);
    });
};
