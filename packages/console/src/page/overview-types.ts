export type { Overview } from '../../../oncall/src/contract.ts';
