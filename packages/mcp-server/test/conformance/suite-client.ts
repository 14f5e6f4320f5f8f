// The command that the suite's client mode starts, with the URL of a scenario's server as its last argument. It hands the
// scenario to the desk whose URL is its first argument, so that no service is started in a process of its own for each.
const [, , desk = '', url = ''] = process.argv;
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;

const answer = await fetch(desk, {
  method: 'POST',
  body: JSON.stringify({ url, scenario, context: JSON.parse(context) }),
});
process.stdout.write(await answer.text());
process.exitCode = answer.ok ? 0 : 1;
