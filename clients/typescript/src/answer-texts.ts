// What a model reads in place of a result; the texts of all clients stand in clients/contract-cases.json.

/** Nobody knows whether the call ran: it was sent, and no answer came. */
export const toLostText = (tool: string): string =>
  `ERROR: answer_lost: The answer to this call of '${tool}' was lost on its way. It may or may not have taken effect. Check before calling it again. If you cannot check, say that its outcome is unknown.`;

/** The service did not take the call. `reason` is a sentence. */
export const toNotRunText = (tool: string, reason: string): string =>
  `ERROR: not_executed: '${tool}' was not executed, and nothing has happened. ${reason} Try again later, or say what could not be done.`;

/** The call was accepted and has not ended in the time that the client waits. */
export const toStillPendingText = (tool: string): string =>
  `'${tool}' has not ended yet and goes on. Do not start it in another way; the same call again later gives its result.`;

/** The same call again, after its answer was lost: nothing ran this time. */
export const toSettledText = (tool: string, text: string): string =>
  `The answer to your earlier call of '${tool}' with these arguments was lost. This is its result; it was not executed a second time.\n${text}`;
