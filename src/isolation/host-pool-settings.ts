import type { ToolFile } from '../tools/tool.ts';
import type { StockSettings } from './host-stock.ts';
import type { Death, Offence, RestartReason } from './isolation-observer.ts';
import type { PoolMember } from './pool-records.ts';

export type HostPoolSettings = StockSettings & {
  /** Calls after which a host is replaced. */
  readonly maxCalls: number;
  /** Whether a tool that asks for the variable of this name gets it: it is allowed, and there is one. */
  readonly isGiven: (name: string) => boolean;
  /** Whether the operator wants the tool of this name to share its processes with no other file. */
  readonly isOwn: (tool: string) => boolean;
  /** `restart`: why it must be replaced, null where it need not be. `file`: whose work it was, as far as is known. */
  readonly onEnded: (member: PoolMember, death: Death, restart: RestartReason | null, file: ToolFile | null) => void;
  /** A file lost its place among others. */
  readonly onOffence: (file: ToolFile, offence: Offence) => void;
};
