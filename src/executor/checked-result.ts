import type { DryRun, RenderedResult, Warning } from '../contract/tool-result.ts';
import type { Call } from './call.ts';
import type { CallOutcome } from './call-outcome.ts';
import { NO_SUFFIX, toMessage } from './failure-text.ts';
import { renderError, renderHead, toEndedResult, toHundredths } from './render-result.ts';

/** What a dry run has found out of a call. */
export type CheckedCall = Pick<Call, 'index' | 'id' | 'name' | 'durationMs'> & {
  /** The failure that it would have, or what its preview says; null: neither. */
  readonly outcome: CallOutcome | null;
  readonly dryRun: DryRun;
  readonly warnings: readonly Warning[];
};

/** The result of a call of a dry run. */
export const renderChecked = (call: CheckedCall): RenderedResult => {
  const { outcome, dryRun, warnings, durationMs } = call;
  const failure = outcome?.kind === 'failure' ? outcome.failure : null;
  const error = failure === null ? 'null' : renderError(failure, { reference: '', suffix: NO_SUFFIX, effectId: null });
  const warned = warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`;
  return toEndedResult(
    `${renderHead(call)}"success":false,"outcome":"checked","executed":"no","value":${outcome?.valueJson ?? 'null'},"message":${JSON.stringify(
      explain(dryRun, outcome),
    )},"error":${error},"retry":null,"dry_run":${JSON.stringify(dryRun)},"duration_ms":${toHundredths(durationMs)}${warned}}`,
  );
};

/** What a model, or a person, is told. */
const explain = ({ would }: DryRun, outcome: CallOutcome | null): string => {
  const said = `Dry run: this call would ${WOULD[would]}. Nothing has run.`;
  const more =
    outcome === null || outcome.kind === 'success' ? outcome?.message : toMessage(outcome.failure, NO_SUFFIX);
  return more === undefined || more === '' ? said : `${said} ${more}`;
};

const WOULD = {
  run: 'run',
  ask: 'wait for an approval',
  refuse: 'not run',
  retry: 'not run as it is',
  replay: 'not run again: an earlier one answers it',
} as const satisfies Record<DryRun['would'], string>;
