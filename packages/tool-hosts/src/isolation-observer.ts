import type { HostedTool } from 'recourse-server/tools/tool';

/** Why the service itself ended a host. */
export type KillReason =
  | 'timeout'
  | 'abort'
  | 'memory'
  /** Between calls it holds nearly as much memory as it may: its tools keep what they should give back. */
  | 'growth'
  | 'flood'
  | 'forgery'
  /** It has answered enough calls, or its state cannot be trusted any more. */
  | 'recycle'
  /** Nobody needs it: idle for long, of a version that is gone, in the way of another file. */
  | 'surplus'
  | 'shutdown';

/** How a host ended. */
export type Death = {
  readonly pid: number;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** null where it ended by itself. */
  readonly killedFor: KillReason | null;
  /** The last lines it wrote to stderr. */
  readonly lastLines: readonly string[];
  /** The tool whose code ended the process, where that said so. */
  readonly leaver: HostedTool | null;
};

/** What the metrics call it. */
export type RestartReason = 'timeout' | 'oom' | 'crash' | 'exit' | 'recycle' | 'growth' | 'flood';

/** What a file cost its place among others. */
export type Offence =
  /** A call ended its process, or filled its memory. */
  | 'crash'
  | 'memory'
  /** A call went on after its deadline until it was killed. */
  | 'timeout'
  /** It changed what all files share. */
  | 'taint'
  /** Something of it went on long after its calls: timers, sockets, processes. */
  | 'unrest';

/** Why a message of a host is not heard. */
export type DroppedReason = 'forged' | 'second' | 'limit';

/** Who hears of what tool hosts do beside answering. `file`: the absolute path of a tool file. */
export type IsolationObserver = {
  /** `file`: null where the host ran none. `restart`: why it must be replaced; null where it need not be. */
  readonly hostEnded: (file: string | null, death: Death, restart: RestartReason | null) => void;
  readonly messageDropped: (reason: DroppedReason) => void;
  /** A tool threw where nobody waited for it, mostly after its call had been answered. */
  readonly strayThrown: (tool: string | null, file: string, thrown: unknown) => void;
  /** A tool changed what calls of its process share: that process is replaced. */
  readonly hostUnusable: (tool: string | null, file: string, reason: string) => void;
  /** A file lost its place among others, or goes on without it. */
  readonly fileOffended: (file: string, offence: Offence) => void;
  /** A tool wrote a line to stdout or stderr. */
  readonly lineWritten: (file: string, stream: 'stdout' | 'stderr', line: string) => void;
  /** A call waited this long for a process. */
  readonly hostObtained: (waitedMs: number) => void;
};
