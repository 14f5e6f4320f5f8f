import type * as contract from '../../../oncall/src/contract.ts';
export type SessionItem = contract.SessionItem;
export type FailedCall = contract.FailedCall;
export type PendingItem = contract.PendingItem;
export type Overview = contract.Overview;
export type ToolReports = contract.ToolReports;
