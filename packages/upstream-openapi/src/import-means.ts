import type { HttpClient } from '@recourse/toolkit-kit/egress/http-client';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import type { SourceOptions } from 'recourse-server/extension';
import type { JsonSchemaCheck } from 'recourse-server/tools/json-schema-checks';
import type { Upstream } from 'recourse-server/tools/tool';
import type { createCredentials } from './credentials.ts';
import type { OpenApiImportSettings } from './openapi-import-settings.ts';

/** What all tools of one import share. */
export type ImportMeans = Pick<SourceOptions<OpenApiImportSettings>, 'name' | 'settings'> & {
  readonly base: URL;
  readonly credentials: ReturnType<typeof createCredentials>;
  /** Takes the settings' secrets out of an answer, and out of a text of a failure, where shorter ones count too. */
  readonly removeSecrets: Readonly<Record<'fromAnswer' | 'fromFailure', (text: string) => string>>;
  /** Reads a file of the workspace; null where the settings do not allow it. */
  readonly readWorkspaceFile: SourceOptions<OpenApiImportSettings>['readWorkspaceFile'] | null;
  readonly upstream: Upstream;
  readonly openClient: () => Promise<HttpClient>;
  /** Settles when an answer of so many bytes may be worked on: large ones have a turn of the event loop each. */
  readonly turnFor: (bytes: number) => Promise<void>;
  readonly checkFor: (schema: JsonSchema) => JsonSchemaCheck;
  readonly now: () => number;
};
