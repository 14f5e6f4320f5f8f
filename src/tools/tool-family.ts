import type { InlineTool } from './tool.ts';
import type { UnavailableTool } from './tool-offer.ts';

/** Tools that come together, those of them that this machine cannot offer, and the end of what they keep open. */
export type ToolFamily = {
  readonly tools: readonly InlineTool[];
  readonly unavailable?: readonly UnavailableTool[];
  readonly close: () => Promise<void>;
};

/** Tools that are offered where the settings ask for them. */
export type ToolGroup = 'notes' | 'shell' | 'drive' | 'mail' | 'calendar' | 'slack';

/** Where a family of tools tells people what they should know of it. */
export type FamilyLog = {
  readonly [level in 'info' | 'warn' | 'error']: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

/** Whether commands may make epoll instances; with them a command can end the service. */
export type EpollUse = 'refused' | 'allowed';

export type ShellOptions = {
  /** What commands see as /workspace. Absolute. */
  readonly workspaceDir: string;
  readonly bwrapPath: string;
  readonly timeoutMs: number;
  readonly cpuSeconds: number;
  readonly memoryMb: number;
  readonly maxProcesses: number;
  readonly outputBytes: number;
  readonly epoll: EpollUse;
};

export type GoogleOptions = {
  readonly credentialsPath: string | undefined;
  readonly subject: string | undefined;
  readonly apiUrl: string | undefined;
};

export type SlackOptions = { readonly token: string | undefined; readonly apiUrl: string | undefined };
