/** What the OpenAPI document describes. A route names its operation; what is said of it stands in the schemas, loaded with the document. */
export type Operation =
  | 'executeToolCalls'
  | 'getToolCallResults'
  | 'getSession'
  | 'endSession'
  | 'resetBudgets'
  | 'resetToolBudget'
  | 'listTools'
  | 'getTool'
  | 'live'
  | 'ready'
  | 'metrics';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Left out: the route is no part of the document. */
    readonly operation?: Operation;
  }
}
