import { serverOf, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { expect, test } from 'vitest';

const TOKEN = 'kx3vQ81nUzT5_mWp2';

test('a tool whose name holds a secret of the configuration is left out, and no line of the log shows it', async () => {
  const { service, tools, linesOf } = await startConfigLab({
    mcpServers: {
      far: serverOf('w', ['say', `a_${TOKEN}_b`, `c_${TOKEN.replace('_', '.')}`], { env: { SERVER_TOKEN: TOKEN } }),
    },
  });
  expect([...(await tools()).keys()].filter((name) => name.startsWith('far'))).toEqual(['far_say']);
  expect(linesOf('tools of an MCP server left out: their names contain a secret')).toMatchObject([{ tools: 2 }]);
  expect(JSON.stringify(service.logLines())).not.toContain(TOKEN);
});
