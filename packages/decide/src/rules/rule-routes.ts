import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { SessionId } from 'recourse-server/contract/session';
import { ignoreBodies } from 'recourse-server/routes/body-parsers';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import { ProblemError, readQuery } from 'recourse-server/routes/problems';
import { callerOf } from 'recourse-server/routes/request-gate';
import type { RouteHost } from 'recourse-server/routes/route-host';
import { askStore, createSessionIdProblem } from 'recourse-server/routes/sessions';
import * as z from 'zod';
import type { OpenRule } from './open-rule.ts';

export type RuleRoutesOptions = {
  readonly findRule: (name: string) => OpenRule | undefined;
  /** Forgets what a record has counted. Rejects with the store. */
  readonly forget: (key: string) => Promise<void>;
  /** An operator has made a rule begin anew. */
  readonly onForgotten: (about: { readonly rule: string; readonly by: string | null }) => void;
};

// Strict: a key that is misspelled would be another.
const OfKey = z.strictObject({ key: z.string().min(1).max(256).optional() });

type OfRule = { Params: { id: string; name: string } };

/**
 * DELETE /sessions/{id}/rules/{name} and /rules/{name}: a rule begins anew in that session, for the caller's tenant, or for the key of it that
 * `?key=` names. For operators.
 */
export const addRuleRoutes = (
  app: FastifyInstance,
  host: Pick<RouteHost, 'toSessionKey'>,
  options: RuleRoutesOptions,
): void => {
  const { findRule, forget, onForgotten } = options;
  const done = async (request: FastifyRequest, reply: FastifyReply, rule: OpenRule, key: string | null) => {
    if (key === null) throw noSuchRule();
    await askStore(forget(key));
    onForgotten({ rule: rule.name, by: callerOf(request).key });
    return reply.code(204).send();
  };
  const paths = ['/sessions/:id/rules/:name', '/rules/:name'] as const;
  const addRoutes: FastifyPluginAsync = async (routes) => {
    ignoreBodies(routes);
    routes.delete<OfRule>(paths[0], { config: { operation: 'operate' } }, async (request, reply) => {
      const { id, name } = request.params;
      if (!SessionId.safeParse(id).success) throw createSessionIdProblem();
      const rule = findRule(name);
      if (rule === undefined || perOf(rule) !== 'session') throw noSuchRule();
      const { tenant } = callerOf(request);
      return done(request, reply, rule, rule.keyOf({ tenant, sessionKey: host.toSessionKey(tenant, id), key: null }));
    });
    routes.delete<OfRule>(paths[1], { config: { operation: 'operate' } }, async (request, reply) => {
      const { key = null } = readQuery(OfKey, request.query);
      const rule = findRule(request.params.name);
      if (rule === undefined || perOf(rule) === 'session') throw noSuchRule();
      const { tenant, key: own } = callerOf(request);
      if (perOf(rule) === 'key' && key === null && own !== null) throw noKeyNamed();
      return done(request, reply, rule, rule.keyOf({ tenant, sessionKey: null, key }));
    });
  };
  void app.register(addRoutes);
  for (const path of paths) refuseOtherMethods(app, path, ['DELETE']);
};

const perOf = (rule: OpenRule): 'session' | 'tenant' | 'key' => (rule.kind === 'cap' ? rule.per : 'session');

const noSuchRule = (): ProblemError =>
  new ProblemError(
    404,
    'rule_not_found',
    'The configuration has no such rule here: those by session are at /sessions/{id}/rules/{name}, others at /rules/{name}.',
  );

const noKeyNamed = (): ProblemError =>
  new ProblemError(400, 'key_required', 'The rule counts by key: name the key whose count is to begin anew, by ?key=.');
