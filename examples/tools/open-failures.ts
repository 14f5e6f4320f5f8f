// A reducer: what a session's calls come to, for whoever looks at it. This one says where a run got stuck.
import { defineReducer } from 'recourse-server';

type OpenFailure = {
  readonly tool: string;
  readonly step: number;
  readonly code: string | null;
  readonly message: string;
};

export const openFailures = defineReducer<readonly OpenFailure[]>({
  name: 'open_failures',
  initial: [],
  reduce: (open, { tool, step, success, outcome, code, message }) => {
    // What was not run says nothing new; why it was not is in the failure before.
    if (tool === null || outcome === 'refused') return open;
    const others = open.filter((failure) => failure.tool !== tool);
    return success ? others : [...others, { tool, step, code, message }];
  },
});
