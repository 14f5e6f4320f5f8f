import { summarise, toPairwise } from '../summarise.ts';
import { toCells, toTable } from '../to-table.ts';
import type { McpLane, McpSeries } from './measure-mcp.ts';

const NAMES = {
  sdk_modern: "the SDK's server, 2026-07-28, no session",
  service_modern: 'the service, the same',
  sdk_session: "the SDK's server, 2025-11-25, session not kept",
  service_session: 'the service, the same, session kept',
  service_native: 'the service, POST /tool-calls, session kept',
} as const satisfies Record<McpLane, string>;

const COMPARED_TO = {
  sdk_modern: null,
  service_modern: 'sdk_modern',
  sdk_session: null,
  service_session: 'sdk_session',
  service_native: null,
} as const satisfies Record<McpLane, McpLane | null>;

/** The part of the report about the MCP door: one call of `echo` a request, to the SDK's own server. */
export const toMcpSection = (series: readonly McpSeries[]): readonly string[] => [
  "## MCP door: throughput to the SDK's own server",
  toTable(
    [
      'tools/call of echo',
      'bytes sent',
      'bytes answered',
      'requests/s',
      'CPU µs a request',
      'core busy',
      'to the SDK',
      'lowest',
      'highest',
      'by CPU time',
      'lowest',
      'highest',
    ],
    series.map((one) => toRow(one, series)),
  ),
];

const toRow = ({ name, sizes, runs }: McpSeries, all: readonly McpSeries[]): readonly string[] => {
  const middle = (pick: (run: (typeof runs)[number]) => number): number => summarise(runs.map(pick)).median;
  const figures = [
    NAMES[name],
    String(sizes.request),
    String(sizes.answer),
    middle(({ batchesPerSecond }) => batchesPerSecond).toFixed(0),
    middle(({ cpuMicrosPerBatch }) => cpuMicrosPerBatch).toFixed(1),
    `${(middle(({ busy }) => busy) * 100).toFixed(0)} %`,
  ];
  const reference = all.find((other) => other.name === COMPARED_TO[name]);
  if (reference === undefined) return [...figures, '', '', '', '', '', ''];
  const speed = toPairwise(runs, reference.runs, ({ batchesPerSecond }) => batchesPerSecond);
  const work = toPairwise(reference.runs, runs, ({ cpuMicrosPerBatch }) => cpuMicrosPerBatch);
  return [...figures, ...toCells(speed, 2), ...toCells(work, 2)];
};
