import { startHttpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const ID = '8123456789012345679';
const INT64 = { type: 'integer', format: 'int64' };
const bodyOf = (schema: unknown, media = 'application/json') => ({ required: true, content: { [media]: { schema } } });
const queryOf = (name: string, schema: unknown, more = {}) => ({ name, in: 'query', schema, ...more });

const PATHS = {
  '/rows/{id}': {
    get: {
      operationId: 'get_row',
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'number' } }],
    },
  },
  '/rows': {
    get: {
      operationId: 'list_rows',
      parameters: [
        queryOf('id', INT64),
        queryOf('ids', { type: 'array', items: INT64 }),
        queryOf('joined', { type: 'array', items: INT64 }, { style: 'form', explode: false }),
        queryOf('filter', { type: 'object', properties: { id: INT64 } }, { style: 'deepObject', explode: true }),
        { name: 'json', in: 'query', content: { 'application/json': { schema: { properties: { id: INT64 } } } } },
        { name: 'X-Row', in: 'header', schema: INT64 },
      ],
    },
    post: {
      operationId: 'copy_row',
      requestBody: bodyOf({
        type: 'object',
        properties: {
          source: INT64,
          text: { type: 'string' },
          rows: {
            type: 'array',
            items: {
              type: 'object',
              required: ['kind'],
              properties: { id: INT64, kind: { type: 'string', default: 'a' } },
            },
          },
        },
      }),
    },
    put: { operationId: 'put_id', requestBody: bodyOf(INT64) },
    patch: {
      operationId: 'send_form',
      requestBody: bodyOf(
        { type: 'object', properties: { id: INT64, row: { type: 'object', properties: { id: INT64 } } } },
        'application/x-www-form-urlencoded',
      ),
    },
    delete: {
      operationId: 'send_parts',
      requestBody: bodyOf({ type: 'object', properties: { id: INT64 } }, 'multipart/form-data'),
    },
  },
};

const start = async () => {
  const bodies: string[] = [];
  const target = await startHttpTarget((response) => {
    const chunks: Uint8Array[] = [];
    response.req
      .on('data', (chunk: Uint8Array) => chunks.push(chunk))
      .on('end', () => {
        bodies.push(Buffer.concat(chunks).toString());
        response.writeHead(204).end();
      });
  });
  const { tool } = await startImport(documentOf(PATHS), { baseUrl: target.origin });
  return {
    bodies,
    target,
    send: (name: string, input: Readonly<Record<string, unknown>>) => callTool(tool(name), input),
  };
};

test('a text of digits reaches an API that asks for an integer as bare digits, wherever it stands', async () => {
  const { bodies, target, send } = await start();
  await send('get_row', { id: ID });
  await send('list_rows', { id: ID, ids: [ID, 1], joined: [ID, `-${ID}`], filter: { id: ID }, json: { id: ID } });
  await send('list_rows', { 'X-Row': ID });
  await send('copy_row', { source: ID, text: ID, rows: [{ id: ID }, { id: 5 }] });
  await send('put_id', { body: ID });
  await send('send_form', { id: ID, row: { id: ID } });
  await send('send_parts', { id: ID });
  expect(target.requests.map(({ path }) => decodeURIComponent(path)).slice(0, 2)).toEqual([
    `/rows/${ID}`,
    `/rows?id=${ID}&ids=${ID}&ids=1&joined=${ID},-${ID}&filter[id]=${ID}&json={"id":${ID}}`,
  ]);
  expect(target.requests[2]?.headers['x-row']).toBe(ID);
  const [, , , copied, put, form, parts] = bodies;
  expect(copied).toBe(`{"source":${ID},"text":"${ID}","rows":[{"id":${ID},"kind":"a"},{"id":5,"kind":"a"}]}`);
  expect(put).toBe(ID);
  expect(decodeURIComponent(form ?? '')).toBe(`id=${ID}&row={"id":${ID}}`);
  expect(parts).toContain(`name="id"\r\n\r\n${ID}\r\n`);
});

test('a text that is no whole number, or a short one, is refused for an integer', async () => {
  const { send } = await start();
  for (const id of ['12', '8e18', `${ID}.5`, `0${ID}`])
    await expect(send('list_rows', { id })).rejects.toThrow('expected an integer, got the string');
});

test('numbers are written into URLs without an exponent', async () => {
  const { target, send } = await start();
  for (const id of [1e21, 6.5e23, -1e21, 1.5e-7, 0.1, 12]) await send('get_row', { id });
  expect(target.requests.map(({ path }) => path.replace('/rows/', ''))).toEqual([
    ...['1000000000000000000000', '650000000000000000000000', '-1000000000000000000000', '0.00000015', '0.1', '12'],
  ]);
});
