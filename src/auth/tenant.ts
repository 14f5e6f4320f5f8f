import { ANONYMOUS } from './caller.ts';

/** Whether a tenant may be called so: 1 to 64 of A-Z a-z 0-9 _ . -, a letter or a digit first, and not `anonymous`. */
export const isTenant = (text: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(text) && text !== ANONYMOUS.tenant;
