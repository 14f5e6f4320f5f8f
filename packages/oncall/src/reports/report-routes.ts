import type { FastifyInstance } from 'fastify';
import { FAILURE_POLICY } from 'recourse-server/contract/failure';
import { findNearestNames } from 'recourse-server/contract/nearest-names';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import { overloaded, readQuery } from 'recourse-server/routes/problems';
import { callerKeyOf } from 'recourse-server/routes/request-gate';
import type { RouteHost } from 'recourse-server/routes/route-host';
import { sendReading } from 'recourse-server/routes/send-answer';
import { askStore } from 'recourse-server/routes/sessions';
import * as z from 'zod';
import type { ToolReport, ToolReports } from '../contract/contract.ts';
import type { ReportBook } from './report-book.ts';
import { HOUR_MS, HOURS, type ReportCounts, type ToolCounts, toHour } from './report-counts.ts';

// Strict: a filter that is misspelled would report something else.
const Query = z.strictObject({
  since: z.iso.datetime({ offset: true, error: 'must be an RFC 3339 time such as 2026-11-30T00:00:00Z' }).optional(),
});

/** GET /reports/tools: what the calls of the caller's tenant came to, of the tools that it may use. */
export const addReportRoutes = (
  app: FastifyInstance,
  host: RouteHost,
  { book, time }: { readonly book: Pick<ReportBook, 'read'>; readonly time: () => number },
): void => {
  const busy = new Set<string>();
  app.get('/reports/tools', { config: { operation: 'read' } }, async (request, reply) => {
    const { since } = readQuery(Query, request.query);
    const { tenant, rateKey, mayUse } = host.callerOf(request);
    const asker = rateKey ?? callerKeyOf(request);
    if (busy.has(asker)) throw overloaded({ reason: 'reports', retryAfterSeconds: 1 });
    busy.add(asker);
    const now = time();
    const oldest = now - HOURS * HOUR_MS;
    const from = toHour(Math.min(now, Math.max(oldest, since === undefined ? oldest : Date.parse(since))));
    const counts = await askStore(book.read(tenant, from)).finally(() => busy.delete(asker));
    const names = host.describeTools().flatMap(({ name }) => (mayUse(name) ? [name] : []));
    const answer: ToolReports = {
      since: new Date(from).toISOString(),
      until: new Date(now).toISOString(),
      tools: listTools(counts, mayUse),
      unknown_names: listNames(counts, mayUse, names),
    };
    return sendReading(reply, JSON.stringify(answer));
  });
  refuseOtherMethods(app, '/reports/tools', ['GET', 'HEAD']);
};

const mostFirst = <Item extends { readonly failures: number }>(items: readonly Item[]): Item[] =>
  items.toSorted((one, other) => other.failures - one.failures);

type MayUse = (tool: string) => boolean;

const listTools = ({ tools }: ReportCounts, mayUse: MayUse): ToolReport[] =>
  mostFirst([...tools].flatMap(([tool, counts]) => (mayUse(tool) ? [describeTool(tool, counts)] : [])));

const describeTool = (tool: string, counts: ToolCounts): ToolReport => {
  const { calls, failures, codes, rules, recovered, recoveredRounds, gaveUp } = counts;
  return {
    ...{ tool, calls, failures },
    codes: mostFirst([...codes].map(([code, failures]) => ({ code, fault: FAILURE_POLICY[code].fault, failures }))),
    arguments: mostFirst(
      [...rules].map(([key, failures]) => {
        const [path = '', rule = ''] = key.split('\n');
        return { path, rule, failures };
      }),
    ),
    recovered: { sessions: recovered, mean_rounds: recovered === 0 ? null : round(recoveredRounds / recovered) },
    gave_up: gaveUp,
  };
};

const round = (number: number): number => Math.round(number * 10) / 10;

const listNames = (counts: ReportCounts, mayUse: MayUse, tools: readonly string[]): ToolReports['unknown_names'] =>
  [...counts.names]
    .filter(([name]) => mayUse(name))
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, calls]) => ({ name, calls, nearest: findNearestNames(name, tools, 1)[0] ?? null }));
