import type { RunName } from './suite-runs.ts';

/** Checks that fail for one reason, by scenario. */
export type ExpectedFailures = {
  /** `never`: of what the service does not offer. `open`: it should not be so. */
  readonly kind: 'never' | 'open';
  /** For results.md. */
  readonly reason: string;
  readonly checks: Readonly<Record<string, readonly string[]>>;
  /** Left out: in every run that has the scenario. */
  readonly runs?: readonly RunName[];
};

/**
 * The baseline of the conformance suite: which checks fail, and why. A check that fails and is not here makes a test
 * red, and so does one that is here and passes, is skipped, or is gone.
 */
export const EXPECTED_FAILURES: readonly ExpectedFailures[] = [
  {
    kind: 'never',
    reason: 'The service offers tools and no prompts.',
    checks: {
      'prompts-list': ['prompts-list'],
      'prompts-get-simple': ['prompts-get-simple'],
      'prompts-get-with-args': ['prompts-get-with-args'],
      'prompts-get-embedded-resource': ['prompts-get-embedded-resource'],
      'prompts-get-with-image': ['prompts-get-with-image'],
      'completion-complete': ['completion-complete'],
    },
  },
  {
    kind: 'never',
    reason: 'The service offers tools and no resources; the answer of a tool may hold some.',
    checks: {
      'resources-list': ['resources-list'],
      'resources-read-text': ['resources-read-text'],
      'resources-read-binary': ['resources-read-binary'],
      'resources-templates-read': ['resources-templates-read'],
      'resources-subscribe': ['resources-subscribe'],
      'resources-unsubscribe': ['resources-unsubscribe'],
    },
  },
  {
    kind: 'never',
    reason: 'The lists of prompts and resources, which are not offered, have no caching hints.',
    checks: {
      caching: [
        'sep-2549-prompts-list-caching-hints',
        'sep-2549-resources-list-caching-hints',
        'sep-2549-resources-templates-list-caching-hints',
      ],
    },
  },
  {
    kind: 'never',
    reason: 'The log of a tool goes to the operator and to no client.',
    checks: {
      'logging-set-level': ['logging-set-level'],
      'tools-call-with-logging': ['tools-call-with-logging'],
    },
  },
  {
    kind: 'never',
    reason: 'Tools ask the client for nothing: no sampling, no elicitation, no roots.',
    checks: {
      'tools-call-sampling': ['tools-call-sampling'],
      'tools-call-elicitation': ['tools-call-elicitation'],
      'elicitation-sep1034-defaults': ['elicitation-sep1034-general'],
      'elicitation-sep1330-enums': ['elicitation-sep1330-general'],
      'input-required-result-basic-elicitation': ['sep-2322-elicitation-incomplete'],
      'input-required-result-basic-list-roots': ['sep-2322-list-roots-incomplete'],
      'input-required-result-basic-sampling': ['sep-2322-sampling-incomplete'],
      'input-required-result-capability-check': ['sep-2322-respect-client-capabilities'],
      'input-required-result-multi-round': ['sep-2322-multi-round-r1'],
      'input-required-result-multiple-input-requests': ['sep-2322-multiple-inputs-incomplete'],
      'input-required-result-non-tool-request': ['sep-2322-non-tool-incomplete'],
      'input-required-result-request-state': ['sep-2322-request-state-incomplete'],
      'input-required-result-result-type': ['sep-2322-result-type-included'],
      'input-required-result-tampered-state': ['sep-2322-reject-tampered-state'],
      'server-stateless': ['sep-2575-missing-capability-http-400', 'sep-2575-server-rejects-undeclared-capability'],
      'tasks-mrtr-input': ['sep-2663-tasks-get-status-input-required', 'tasks-mrtr-partial-fulfillment'],
      'tasks-mrtr-composition': ['sep-2663-mrtr-synchronous-before-task-creation'],
    },
  },
  {
    kind: 'never',
    reason:
      'A call that was accepted ends with a result, which the model can read: a task is completed, also by an error of the service, and never failed.',
    checks: { 'tasks-lifecycle': ['sep-2663-tasks-get-status-failed'] },
  },
  {
    kind: 'never',
    reason: 'A call whose upstream asks for input fails: there is no person to ask.',
    checks: {
      'elicitation-sep1034-client-defaults': [
        'client-elicitation-sep1034-boolean-default',
        'client-elicitation-sep1034-enum-default',
        'client-elicitation-sep1034-general',
        'client-elicitation-sep1034-integer-default',
        'client-elicitation-sep1034-number-default',
        'client-elicitation-sep1034-string-default',
      ],
      'sep-2322-client-request-state': [
        'sep-2322-client-jsonrpc-id-different',
        'sep-2322-client-no-state-omitted',
        'sep-2322-client-request-state-echoed',
      ],
    },
  },
];
