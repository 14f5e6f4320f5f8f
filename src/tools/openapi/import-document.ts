import { isIP } from 'node:net';
import { type AddressPolicy, isAnyAddress, isPublicAddress } from '../http/address-policy.ts';
import type { Lookup } from '../http/lookup.ts';
import { objectionTo } from '../http/target-url.ts';
import { createArgumentChecks } from './argument-checks.ts';
import { DocumentProblem } from './document/document-problem.ts';
import type { LinkedFiles } from './document/linked-files.ts';
import { parseOpenApiDocument } from './document/openapi-document.ts';
import { chooseBase, toBase } from './document/server-url.ts';
import { type LoadedOperations, loadOperations } from './load-operations.ts';
import type { OpenApiImportSettings } from './operation/openapi-import-settings.ts';
import type { ImportMeans } from './operation-tool.ts';

export type ImportContext = {
  readonly importName: string;
  readonly settings: OpenApiImportSettings;
  readonly documentUrl: URL | null;
  /** What the first version of the document came to; no later version may lead elsewhere. null = there was none yet. */
  readonly pinned: URL | null;
  readonly means: Omit<ImportMeans, 'base' | 'checkFor'>;
  readonly lookup: Lookup;
  /** What the document may refer to. */
  readonly files: LinkedFiles;
};

export type ImportedDocument = LoadedOperations & { readonly base: URL };

/** One version of a document as tools. Throws a DocumentProblem, or what the parsers throw, where it cannot serve. */
export const importDocument = async (text: string, context: ImportContext): Promise<ImportedDocument> => {
  const { settings, documentUrl, pinned, means } = context;
  const document = await parseOpenApiDocument(text, context.files);
  const sendsCredentials = settings.auth === undefined ? 'no' : 'yes';
  const base = chooseBase({ root: document.root, documentUrl, baseUrl: settings.baseUrl, sendsCredentials });
  if (pinned !== null && pinned.href !== base.href)
    throw new DocumentProblem(`The document now names the server ${base.href}, and the import goes to ${pinned.href}.`);
  for (const place of [base, ...settings.servers.map((server) => toBase(new URL(server)))])
    await checkBase(place, context);
  const loaded = await loadOperations({
    document,
    documentUrl,
    settings,
    means: { ...means, base, checkFor: createArgumentChecks(settings.formats) },
  });
  return { ...loaded, base };
};

/** Calls would be refused one by one; whoever sets the import up is told at once. */
const checkBase = async (base: URL, { importName, settings, lookup }: ImportContext): Promise<void> => {
  const isAllowed = settings.privateAddresses === 'allow';
  const objection = objectionTo(base, isAllowed ? 'any' : 'web');
  if (objection !== null) throw new DocumentProblem(`The server ${base.href} cannot be asked: ${objection}.`);
  const policy: AddressPolicy = isAllowed ? isAnyAddress : isPublicAddress;
  const host = base.hostname.replace(/^\[|\]$/g, '');
  // A look-up that fails says nothing about the address: calls will tell.
  const addresses = isIP(host) === 0 ? await lookup(host).then(toSame, () => []) : [host];
  if (!addresses.every(policy))
    throw new DocumentProblem(
      `The server ${base.origin} is not at a public address. Set privateAddresses: allow for the import '${importName}' if that is meant.`,
    );
};

const toSame = (addresses: readonly string[]): readonly string[] => addresses;
