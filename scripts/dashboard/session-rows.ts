import { line, only, type Row, ZERO_IS_WELL } from './panel.ts';
import { CHOSEN_TOOLS, increase, maxBy, orZero, quantile, rate, series, share, sum, sumBy } from './queries.ts';

const DECISIONS = 'recourse_retry_budget_decisions_total';

export const BUDGETS_ROW: Row = {
  title: 'Budgets and loops',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Decisions',
        description:
          'How rounds of tools were admitted, per second: free (nothing had failed), retry (one was reserved) or denied (none was left).',
        unit: 'cps',
        queries: only(sumBy('decision', rate(DECISIONS, CHOSEN_TOOLS)), '{{decision}}'),
      },
      {
        kind: 'graph',
        title: 'Denied by tool',
        page: '#sessions=blocked',
        alerts: ['RecourseAgentsLooping'],
        description:
          "Share of a tool's rounds that were refused for lack of retries. A high share is an agent that continues after its retries are used up; one that repeats the same call shows under Loops refused.",
        unit: 'percentunit',
        max: 1,
        queries: only(
          share(
            sumBy('tool', rate(DECISIONS, CHOSEN_TOOLS, 'decision="denied"')),
            sumBy('tool', rate(DECISIONS, CHOSEN_TOOLS)),
          ),
          '{{tool}}',
        ),
      },
      {
        kind: 'graph',
        title: 'Refused for lack of retries',
        page: '#sessions=blocked',
        description:
          'Rounds refused per second, by tool and by whether the retries of the tool or of the session were used up.',
        unit: 'cps',
        queries: only(
          sumBy('tool, scope', rate('recourse_retry_budget_exhausted_total', CHOSEN_TOOLS)),
          '{{tool}} ({{scope}})',
        ),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Refused by a rule',
        description:
          'Calls per second that did not run: retries used up, limits reached, loops, open circuits, a failed preceding call. Each result gives the reason.',
        unit: 'cps',
        queries: only(
          sumBy('code', rate('recourse_tool_call_failures_total', CHOSEN_TOOLS, 'fault="policy"')),
          '{{code}}',
        ),
      },
      {
        kind: 'graph',
        title: 'Loops refused',
        page: '#sessions=blocked',
        alerts: ['RecourseAgentsLooping'],
        description:
          "Share of a tool's calls that the loop guard refused: an agent that makes the same call again and again.",
        unit: 'percentunit',
        max: 1,
        queries: only(
          share(
            sumBy('tool', rate('recourse_loops_detected_total', CHOSEN_TOOLS)),
            sumBy('tool', rate('recourse_tool_calls_total', CHOSEN_TOOLS)),
          ),
          '{{tool}}',
        ),
      },
      {
        kind: 'graph',
        title: 'Circuits',
        page: '#overview=circuits',
        alerts: ['RecourseCircuitOpen'],
        description:
          'Worst state of the circuits of each tool on any replica. An open circuit refuses calls because the tool or its upstream keeps failing (CIRCUIT_FAILURES).',
        unit: 'short',
        max: 2,
        form: 'steps',
        words: ['closed', 'half-open', 'open'],
        queries: only(`max by (tool) (${series('recourse_circuit_state', CHOSEN_TOOLS)})`, '{{tool}}'),
      },
    ),
  ],
};

export const SESSIONS_ROW: Row = {
  title: 'Sessions and idempotency',
  lines: [
    line(
      {
        kind: 'graph',
        title: 'Keyed batches and calls',
        description:
          'Batches with an Idempotency-Key and writes whose call id is their key per second, by outcome: many replays mean clients that lose answers, a mismatch a client that reuses keys.',
        unit: 'reqps',
        queries: only(sumBy('result', rate('recourse_idempotency_total')), '{{result}}'),
      },
      {
        kind: 'bars',
        title: 'Writes with unknown outcome',
        page: '#calls=',
        alerts: ['RecourseOutcomesUnknown'],
        description:
          'Keyed batches with a write whose first attempt has no recorded end, over the time shown: after a crash, check whether it took effect.',
        unit: 'short',
        steps: [
          { from: null, colour: 'green' },
          { from: 0.5, colour: 'orange' },
        ],
        queries: [
          { expression: sum(increase('recourse_idempotency_total', 'result="unknown"')), legend: 'batches' },
          {
            expression: orZero(sum(increase('recourse_tool_calls_total', CHOSEN_TOOLS, 'outcome="unknown"'))),
            legend: 'calls',
          },
        ],
      },
      {
        kind: 'graph',
        title: 'Unknown outcomes that are looked for',
        page: '#unknown',
        alerts: ['RecourseOutcomesUnsettled'],
        description:
          'Writes whose outcome is unknown now, by tool: their reconcile has not found out yet whether they took effect. The console lists them.',
        unit: 'short',
        queries: only(maxBy('tool', series('recourse_unknown_outcomes', CHOSEN_TOOLS)), '{{tool}}'),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Rules',
        page: '#calls=&code=rule_refused',
        alerts: ['RecourseRulesRefusing'],
        description:
          'Calls that rules of the configuration file decided of, per second: refused, would_refuse (the rule observes), and unavailable (its store gave no answer). Allowed ones are not shown.',
        unit: 'cps',
        queries: only(
          `sum by (rule, decision) (${rate('recourse_rule_decisions_total', 'decision!="allowed"')})`,
          '{{rule}} {{decision}}',
        ),
      },
      {
        kind: 'graph',
        title: 'Share refused by rules',
        page: '#calls=&code=rule_refused',
        description: 'Of the calls that each rule decided of, those that it refused.',
        unit: 'percentunit',
        max: 1,
        queries: only(
          share(
            sumBy('rule', rate('recourse_rule_decisions_total', 'decision="refused"')),
            sumBy('rule', rate('recourse_rule_decisions_total')),
          ),
          '{{rule}}',
        ),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Approvals',
        description: 'Approvals per second, by what became of them: each is first requested.',
        unit: 'cps',
        queries: only(sumBy('decision', rate('recourse_approvals_total', CHOSEN_TOOLS)), '{{decision}}'),
      },
      {
        kind: 'graph',
        title: 'Approvals that wait',
        page: '#approvals',
        alerts: ['RecourseApprovalsWaiting'],
        description: 'Calls that wait for a person now, and how many of them for more than half of their time.',
        unit: 'short',
        queries: [
          { expression: `max(${series('recourse_approvals_waiting')})`, legend: 'waiting' },
          { expression: `max(${series('recourse_approvals_past_half')})`, legend: 'past half their time' },
        ],
      },
      {
        kind: 'stat',
        title: 'Oldest approval',
        page: '#approvals',
        description: 'For how long the oldest of them has waited.',
        unit: 's',
        steps: [{ from: null, colour: 'green' }],
        queries: only(`max(${series('recourse_approval_oldest_seconds')})`),
      },
      {
        kind: 'stat',
        title: 'Wait for a person',
        description: 'How long calls waited until a person had decided: nine of ten within this.',
        unit: 's',
        steps: [{ from: null, colour: 'green' }],
        queries: only(`histogram_quantile(0.9, ${sumBy('le', rate('recourse_approval_wait_seconds_bucket'))})`),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Looks for writes',
        page: '#unknown',
        description:
          'Looks for writes whose outcome was unknown, per second, by what they came to: happened and did_not_happen settle a call; failed means that reconcile itself failed.',
        unit: 'cps',
        queries: only(sumBy('verdict', rate('recourse_reconciles_total', CHOSEN_TOOLS)), '{{verdict}}'),
      },
      {
        kind: 'stat',
        title: 'Oldest unknown outcome',
        page: '#unknown',
        description: 'For how long nobody has known of the oldest such write whether it took effect.',
        unit: 's',
        steps: [
          { from: null, colour: 'green' },
          { from: 900, colour: 'orange' },
        ],
        queries: only(`max(${series('recourse_unknown_outcome_oldest_seconds')})`),
      },
      {
        kind: 'stat',
        title: 'Writes that contradicted their reconcile',
        page: '#unknown',
        alerts: ['RecourseReconcileContradiction'],
        description:
          'Writes that ended otherwise than their reconcile had said, over the time shown: such a write may have happened twice. Must stay 0.',
        unit: 'short',
        steps: ZERO_IS_WELL,
        queries: only(orZero(sum(increase('recourse_reconcile_contradictions_total')))),
      },
      {
        kind: 'stat',
        title: 'Audit log',
        alerts: ['RecourseAuditUnwritable'],
        description:
          'Down if at least one replica cannot write its audit lines: they wait, and with AUDIT_REQUIRED=true writes are refused.',
        unit: 'short',
        queries: only(`min(${series('recourse_audit_up')})`),
        words: ['down', 'up'],
        noValue: 'off',
        steps: [
          { from: null, colour: 'red' },
          { from: 1, colour: 'green' },
        ],
      },
      {
        kind: 'stat',
        title: 'Audit lines lost',
        alerts: ['RecourseAuditUnwritable'],
        description:
          'Audit lines for which there was no room while they could not be written, over the time shown. Must stay 0.',
        unit: 'short',
        steps: ZERO_IS_WELL,
        queries: only(orZero(sum(increase('recourse_audit_lost_total')))),
      },
      {
        kind: 'graph',
        title: 'Where budgets are kept',
        description:
          'Budget decisions per second by mode: redis, sqlite, memory (by design) or local (the store is down, each replica counts for itself).',
        unit: 'cps',
        queries: only(sumBy('mode', rate(DECISIONS)), '{{mode}}'),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Store reached',
        page: '#overview=store',
        description: '1 while a replica reaches its session store, 0 while it uses the fallback.',
        unit: 'short',
        max: 1,
        form: 'steps',
        words: ['degraded', 'up'],
        queries: only(series('recourse_session_store_up'), '{{instance}}'),
      },
      {
        kind: 'graph',
        title: 'Duration of store operations',
        alerts: ['RecourseStoreSlow'],
        description: 'Time of one round trip to the session store: p50 and p99.',
        unit: 's',
        queries: [0.5, 0.99].map((part) => ({
          expression: quantile(part, 'recourse_session_store_operation_duration_seconds', { by: 'operation' }),
          legend: `{{operation}} p${part * 100}`,
        })),
      },
      {
        kind: 'graph',
        title: 'Updates decided again',
        description:
          'Updates of a record in Redis that another replica had changed meanwhile, per second. Each costs a round trip: send a session to one replica.',
        unit: 'ops',
        queries: only(`sum(${rate('recourse_session_store_conflicts_total')})`, 'conflicts'),
      },
      {
        kind: 'graph',
        title: 'Store errors',
        description:
          'Store operations that failed, per second, by operation and reason. The calls themselves continue (RETRY_BUDGET_ON_STORE_DOWN).',
        unit: 'ops',
        queries: only(
          sumBy('operation, reason', rate('recourse_session_store_errors_total')),
          '{{operation}}: {{reason}}',
        ),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Memory of stores',
        description:
          'Memory use of the stores of each replica: at 100 % the oldest entries of the tenant that uses most are evicted. With Redis, only the fallback stores are shown.',
        unit: 'percentunit',
        max: 1,
        queries: only(
          `max by (store) (${series('recourse_store_bytes')} / ${series('recourse_store_limit_bytes')})`,
          '{{store}}',
        ),
      },
      {
        kind: 'graph',
        title: 'Evicted from stores',
        alerts: ['RecourseStoreForgets'],
        description:
          'Entries evicted per second. expired is normal; full and share are for lack of memory (share: other tenants had entries as well); too_large entries are never stored.',
        unit: 'ops',
        queries: only(sumBy('store, reason', rate('recourse_store_evictions_total')), '{{store}}: {{reason}}'),
      },
    ),
    line(
      {
        kind: 'graph',
        title: 'Space of the store',
        page: '#overview=store',
        alerts: ['RecourseStoreFilling'],
        description:
          'Memory of Redis and its maxmemory, or the file of SQLite and what its disk has for it. From 75 % on no journals and results are stored, from 85 % on no pending calls and webhook messages; the rest is for budgets and marks of writes.',
        unit: 'bytes',
        queries: [
          { expression: `max(${series('recourse_session_store_memory_used_bytes')})`, legend: 'used' },
          { expression: `max(${series('recourse_session_store_memory_max_bytes')})`, legend: 'most' },
        ],
      },
      {
        kind: 'graph',
        title: 'Not kept',
        description:
          'Journals, results, pending calls, webhook messages and lists that were not stored, per second: the store was nearly full, or its tenant kept its part of it.',
        unit: 'ops',
        queries: only(sumBy('kind, limit', rate('recourse_session_store_not_kept_total')), '{{kind}} ({{limit}})'),
      },
      {
        kind: 'graph',
        title: 'Missing in lists',
        description:
          'Sessions and failures that the lists of sessions and failed calls lack, per second: more came than a second may have (flood), the store has no room for them (room), or it failed (store).',
        unit: 'ops',
        queries: only(sumBy('reason', rate('recourse_oncall_lines_dropped_total')), '{{reason}}'),
      },
      {
        kind: 'graph',
        title: 'Not acted on in the store',
        alerts: ['RecourseStoreUnopened'],
        description:
          'Pending calls and webhook messages that were found and not acted on, per second: their key is missing, they are not sealed, not authentic or damaged.',
        unit: 'ops',
        queries: only(sumBy('problem', rate('recourse_session_store_unopened_total')), '{{problem}}'),
      },
    ),
  ],
};
