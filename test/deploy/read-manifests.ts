import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { ROOT } from './script-sandbox.ts';

/** Where the manifests lie. */
export const MANIFESTS = join(ROOT, 'deploy/kubernetes');

const Labels = z.record(z.string(), z.string()).default({});
const Document = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), labels: Labels }).default({ name: '', labels: {} }),
});

/** One document of a file, as far as every kind is the same. */
export type Manifest = z.infer<typeof Document>;

/** The documents of a YAML file below deploy/kubernetes. Throws where one cannot be read, or says a key twice. */
export const readDocuments = (path: string): readonly unknown[] =>
  parseAllDocuments(readFileSync(join(MANIFESTS, path), 'utf8'), { strict: true, uniqueKeys: true }).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS();
  });

// Values of a Helm chart, and no document of Kubernetes.
const NO_MANIFEST = 'queue-depth/prometheus-adapter-values.yaml';

/** Every document below deploy/kubernetes, with the file it stands in. */
export const readManifests = (): readonly { readonly path: string; readonly document: Manifest }[] =>
  readdirSync(MANIFESTS, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml') && path !== NO_MANIFEST)
    .sort()
    .flatMap((path) => readDocuments(path).map((document) => ({ path, document: Document.parse(document) })));

const Addition = z.object({ op: z.literal('add'), path: z.string().startsWith('/'), value: z.unknown() });
const Component = z.object({
  patches: z.array(
    z.object({ target: z.object({ kind: z.literal('Deployment'), name: z.string() }), patch: z.string() }),
  ),
});

/** A Deployment as kustomize makes it of its file and of what these components add. Throws where a patch adds nothing. */
export const renderDeployment = (path: string, components: readonly string[]): Manifest => {
  const patches = components.flatMap((name) => Component.parse(readDocuments(`${name}/kustomization.yaml`)[0]).patches);
  const deployment = Document.parse(readDocuments(path)[0]);
  const additions = patches
    .filter(({ target }) => new RegExp(`^(?:${target.name})$`).test(deployment.metadata.name))
    .flatMap(({ patch }) => z.array(Addition).parse(parse(patch)));
  return Document.parse(
    additions.reduce<unknown>((whole, { path, value }) => addAt(whole, path.split('/').slice(1), value), deployment),
  );
};

/** RFC 6902: the members on the way must be there, `-` is the end of a list. */
const addAt = (node: unknown, [member, ...rest]: readonly string[], value: unknown): unknown => {
  if (member === undefined) return value;
  if (!Array.isArray(node)) {
    const members = z.record(z.string(), z.unknown()).parse(node);
    return { ...members, [member]: addAt(members[member], rest, value) };
  }
  if (member === '-') return [...node, value];
  return node.map((item: unknown, index) => (String(index) === member ? addAt(item, rest, value) : item));
};

/** The one document of this kind and name in a file. Throws where there is none, or it has another shape. */
export const readManifest = <Schema extends z.ZodType>(
  path: string,
  kind: string,
  name: string,
  schema: Schema,
): z.infer<Schema> => {
  const found = readDocuments(path).find((each) => {
    const { success, data } = Document.safeParse(each);
    return success && data.kind === kind && data.metadata.name === name;
  });
  return schema.parse(found);
};
