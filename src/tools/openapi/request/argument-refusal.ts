import { RetryableToolError } from '../../tool-errors.ts';

/** The error for arguments that no request can be made of: nothing was sent. */
export const toArgumentRefusal = (message: string): RetryableToolError =>
  new RetryableToolError(message, { executed: 'no' });
