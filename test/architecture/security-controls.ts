/** The controls of docs/security.md in its words and order, by risk, each with the tests that hold it: file and title. */
export const SECURITY_CONTROLS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'API1 Broken Object Level Authorization': {
    'Every record is stored under the tenant of the key: no tenant reads or writes what another one stored.': [
      'test/contract/tenants.test.ts: one id of a session is two sessions: budgets, journal and reset of one are not those of the other',
      'packages/background/test/tenants.test.ts: is nothing to another one: each path answers as for an id that nobody has, and changes nothing',
    ],
    'An `Idempotency-Key` of another tenant is new; its results answer 404.': [
      "test/contract/tenants.test.ts: another tenant's Idempotency-Key is new, and its kept results are not found",
    ],
    'An API key and a token meet in one tenant only.': [
      'test/contract/hostile-auth-tokens.test.ts: an API key and a token of one tenant see the same sessions, those of another tenant see nothing of them',
    ],
    'A key sees kept results only if it may use all tools in them.': [
      'test/contract/tenants-tools.test.ts: kept results are given to a key that may use all tools in them, and to another they are not there',
    ],
    'A session id is hashed before it is stored or logged.': [
      'test/contract/hostile-redis-data.system.test.ts: the session id %j is a session like any other, and stands in no key',
      'test/contract/hostile-labels-and-logs.test.ts: a session id stands in no log line',
    ],
  },
  'API2 Broken Authentication': {
    'A missing, unknown, nearly right or expired key gets the same answer; keys are compared in constant time (not measured).':
      [
        'test/contract/hostile-auth.test.ts: a missing, an unknown, a nearly right and an expired key get one answer, to the last header',
      ],
    'Only hashes of keys are configured, and no error message repeats an entry.': [
      'test/config/settings/access-settings.test.ts: a key that is not given by its hash is refused, and not repeated',
      'test/e2e/process-start.system.test.ts: a file of keys with a bad line is refused by the line, and what is in it is not repeated',
    ],
    'Keys expire, and are revoked within about a second without a restart, also for calls that are queued; an emptied file admits no caller.':
      [
        'packages/background/test/revoked-keys.test.ts: start only while the key is one and may use their tool, whatever it was allowed when they were accepted',
        'test/contract/hostile-auth.test.ts: a key is refused from its expiry on, while the service runs',
        'test/contract/hostile-auth.test.ts: keys of a file are followed: a revoked one is refused, a new one let in, and a broken file changes nothing',
        'test/contract/hostile-auth.test.ts: where all keys are taken out of the file nobody is let in, least of all as anonymous',
        'test/auth/api-keys.test.ts: a file that is emptied revokes every key in it',
      ],
    'Streams and long polls end with the key or token that they were opened by.': [
      'test/streams/revoked-readers.test.ts: a key that is revoked or loses a tool loses its streams, polls and waits within seconds; its calls go on',
      'test/streams/revoked-readers.test.ts: a stream and a poll end when their token does, without done',
    ],
    'Tokens need JWT_ISSUER or JWT_AUDIENCE, an asymmetric signature, `exp` and `sub`.': [
      'test/config/settings/access-settings.test.ts: %s is refused',
      'test/auth/tokens.test.ts: signatures that prove nothing are refused: none, the public key as a secret, another key, a changed token',
      'test/contract/hostile-auth-tokens.test.ts: where only tokens are accepted nobody is anonymous, and every refusal is the same 401',
    ],
    'While the issuer is away, no token is accepted that cannot be checked.': [
      'test/contract/hostile-auth-tokens.test.ts: while the issuer is away a token is answered 503 with Retry-After, and API keys work',
    ],
    'Without keys the service listens on loopback only.': [
      'test/config/settings/config.test.ts: without keys the address %s is refused',
    ],
    'Logs hold the tenant and the name of the key or subject, never the key or token.': [
      'test/contract/hostile-auth.test.ts: a missing, an unknown, a nearly right and an expired key get one answer, to the last header',
      'test/contract/hostile-auth-tokens.test.ts: a token lets its tenant in, its subject stands in the log, and the token nowhere',
    ],
  },
  'API3 Broken Object Property Level Authorization': {
    'Catalogue, suggestions and sessions name only tools of the key.': [
      'test/contract/tenants-tools.test.ts: the catalogue and what a wrong name is told hold the tools of the key alone',
      'test/contract/tenants-tools.test.ts: a session shows the calls, budgets and slices of the tools that the key may use, and no others',
    ],
    'Unknown members are ignored; prototypes cannot be reached.': [
      'test/contract/hostile-envelope.test.ts: members the contract does not know are ignored, __proto__ and constructor among them',
      'test/contract/hostile-arguments.test.ts: %s reaches for a prototype, as object and as string',
    ],
    'Unknown arguments are refused by name; nothing is coerced.': [
      'test/contract/hostile-arguments.test.ts: the arguments %s are refused with what is wrong, and nothing is coerced',
    ],
    'Registered secrets leave in no answer, log, span, journal or metric.': [
      'test/e2e/canary.system.test.ts: no secret that tools are given shows in any answer, log line, span, metric or key of Redis, however they leak it',
    ],
    'Well-known shapes of secrets leave in no text of a failure.': [
      'test/contract/hostile-door.test.ts: secrets in the text of a failure stand in no result, log line, span, journal or metric',
    ],
    'Arguments marked `sensitive` appear in no journal, message or span.': [
      'test/contract/journal-secrets.test.ts: arguments are shown without secrets and without what the schema marks as sensitive, and cut',
      'test/e2e/traces-content.system.test.ts: with TRACE_CONTENT they are, without secrets and without what a schema marks sensitive',
    ],
    'No body shows a stack or a path of the service.': [
      'test/contract/hostile-door-bodies.test.ts: no answer to a batch shows a stack or a path of the service, whoever sent it and however it ended',
      'test/contract/hostile-door-bodies.test.ts: no page, document or refusal shows a stack or a path of the service',
    ],
  },
  'API4 Unrestricted Resource Consumption': {
    'Answers are bounded per batch and in total; a client that does not read is disconnected.': [
      'test/contract/answer-memory.test.ts: answers that are not read are kept in a bounded memory: their caller is refused, others are served',
      'test/contract/answer-memory.test.ts: a connection that takes nothing of its answer is ended, and what it held is free',
    ],
    'Bodies, headers and the time to send them are bounded.': [
      'test/contract/hostile-request.test.ts: a length over the limit is refused at once, before the body comes',
      'test/contract/hostile-transport.test.ts: headers of 20 kB are refused',
      'test/contract/hostile-transport.test.ts: a body that never ends is answered with 408, and what comes later is not run',
    ],
    'Large bodies that come at once leave other requests their turns, and their memory has a limit for each caller.': [
      'test/routes/large-bodies.test.ts: of large bodies that are there at once one is handled in a turn of the loop, and small requests come between',
      'test/hostile/floods.system.test.ts: whatever one key sends, with a heap of %i MB the service lives and serves another tenant in time',
    ],
    'Depth and values of arguments and calls of a batch are bounded.': [
      'test/contract/hostile-arguments.test.ts: %i levels are too deep, as object and as string',
      'test/contract/hostile-envelope.test.ts: 65 calls get 65 results: 64 are run, the last is told to come again',
    ],
    'Where Redis or the file fills, journals, results and pending calls are no longer written; budgets and marks find room to the end.':
      [
        'test/contract/store-space.system.test.ts: a Redis that fills keeps no results and journals from 75 % on, no pending calls from 85 % on, and budgets and marks to the end; freed, it keeps all again',
      ],
    "Each tenant has a part of that space for pending calls, results and messages; marks of other tenants' writes find room.":
      [
        'test/sessions/store-space.test.ts: a tenant keeps at most as much as it leaves free, the next one as much as both leave free, and what is given back is there again: %s',
        'test/contract/store-shares.system.test.ts: a tenant that fills its part of Redis by calls, messages and results is refused more of them, and another one has all its keyed writes recorded',
      ],
    'A key, or an address without keys, has a rate that replicas share.': [
      'test/contract/rate-limits.test.ts: two services that share Redis let in as many as one',
      'test/contract/hostile-auth.test.ts: a key that comes too often is told when it may come again; others are not held back',
    ],
    'While Redis is silent rates hold and no call fails; the first batches wait 50 ms twice.': [
      'test/contract/hostile-door-redis.system.test.ts: a rate holds while Redis is silent, and who is over it is told so at once',
      'test/contract/hostile-door-redis.system.test.ts: %s: of callers with keys, rates and sessions one batch waits, and none is refused',
      'test/contract/hostile-redis-down.system.test.ts: %s: no batch waits or fails, and Redis is used again once it is back',
    ],
    'Slots and a fair queue; overload is refused before the body is read, with `Retry-After`.': [
      'test/contract/hostile-overload.system.test.ts: while one caller floods, the single call of another is next, and has its place in a full queue',
      'test/contract/hostile-overload.system.test.ts: a saturated service answers 503 before it reads a batch, and everything else as ever',
      'test/contract/hostile-lag.system.test.ts: while the event loop keeps lagging part of the batches is refused, and all are taken again when it does not',
    ],
    'Time, memory, output and processes of a tool are bounded.': [
      'test/contract/hostile-isolated-endless.system.test.ts: %s ends at its deadline, alone and among 63 good calls',
      'test/contract/hostile-isolated-memory.system.test.ts: %s ends its own process, alone and among 63 good calls',
      'test/contract/hostile-isolated-floods.system.test.ts: %s is cut and killed, and costs the service no memory',
    ],
    'Values and downloads are bounded after decompression.': [
      'test/contract/hostile-outputs.test.ts: a tool that returns %s is asked for less',
      'test/contract/hostile-ssrf.test.ts: a body that never ends, or unpacks to more and more, is cut',
    ],
    'Names, ids and sessions of callers make no metric series.': [
      'test/contract/cardinality.system.test.ts: ten thousand hostile names, ids, sessions, rounds, keys and tenants leave less than five thousand series',
    ],
    'Memory for sessions stays within a part of the heap, and a tenant that fills it takes nothing from others.': [
      'test/e2e/memory-flood.system.test.ts: new sessions without end leave a service with a small heap alive and flat, and another tenant its budgets and its keys',
      'test/memory/store-weights.system.test.ts: a full store claims at least what the heap has grown by, and not much more: %s',
      'test/sessions/idempotency/memory-idempotency-store.test.ts: a tenant that fills records and results many times over takes nothing from another',
    ],
  },
  'API5 Broken Function Level Authorization': {
    'Each route needs one operation of `call`, `read`, `reset`, `operate`, `approve`, by path and method or as it declares.':
      [
        'test/contract/hostile-auth.test.ts: %s %s needs the operation %s, and nothing else',
        'test/routes/operate.test.ts: a route that demands operate is refused to %s',
        'test/routes/operate.test.ts: a route that demands operate lets in %s',
      ],
    '`operate` and `approve`, the decisions of a person, are never implied: key or token must name them.': [
      'test/auth/api-key.test.ts: may=%s allows that and no more: operate brings nothing, and nothing brings operate',
      'test/auth/tokens.test.ts: scopes say what a token may do: %j',
    ],
    'Each call is checked; a tool that the key may not use is `not_authorized` and does not run.': [
      'test/contract/tenants-tools.test.ts: a key that lacks one of three tools is refused exactly that one, and it does not run',
      'test/contract/tenants-tools.test.ts: a key that takes up a batch of another key leaves what it may not see as it is',
    ],
    'A replay is checked again for the key that asks.': [
      'test/contract/tenants-tools.test.ts: a replay gives each key what it may see, and the record keeps it for the other',
    ],
    'Only a key that may use a tool resets its budget.': [
      'test/contract/tenants-tools.test.ts: a key resets budgets of tools it may use; what would touch others it may not',
    ],
    'Only a key that may operate and use the tool closes its circuit, for all tenants; others learn nothing of it.': [
      'packages/oncall/test/states/close-circuit.test.ts: who may not operate is refused, and who may not use the tool learns nothing of its circuit',
      'packages/oncall/test/states/states.test.ts: an open circuit is shown to keys that may use its tool, and its failure to the tenant that had it',
    ],
    'A token without scopes may do nothing.': [
      'test/contract/hostile-auth-tokens.test.ts: scopes decide: without one nothing is allowed, and tools are those that are named',
    ],
    'Other methods are refused.': ['test/contract/hostile-methods-and-paths.test.ts: %s answers %j with 405 and Allow'],
  },
  'API6 Unrestricted Access to Sensitive Business Flows': {
    'Calls and rounds of a session, and calls of a tool in it, can be limited.': [
      'test/contract/limits.test.ts: fifty batches at once run exactly as many calls as the session has',
      'test/contract/limits.test.ts: a tool’s own limit holds for it alone; 0 means never',
      'test/contract/limits.test.ts: rounds: a named one counts once, however many batches it has, and one too many is not counted',
    ],
    'Retries are budgeted exactly, also in races and storms.': [
      'test/contract/hostile-redis-data.system.test.ts: of 200 retries at once with three allowed exactly three run',
      'test/contract/hostile-budget-texts.test.ts: the retries of the session can be gone before those of the tool',
    ],
    'The same failing call is refused.': [
      'test/contract/loops.test.ts: a call that failed twice is not run a third time; the count grows, and no retry is spent on it',
      'test/contract/hostile-budget-texts.test.ts: the budget speaks from the last retry on',
      'test/contract/loops-same-answer.test.ts: the same answer is warned of from the third time, and refused from the tenth where the tool changes things',
    ],
    'A write with an `Idempotency-Key`, or whose id is its key (`idempotency: "call_id"`), runs at most once, also when the service is killed.':
      [
        'test/e2e/call-ids-kills.system.test.ts: two replicas that get every id at once have one effect each, though one is killed in the middle',
        'test/e2e/idempotency-kills.system.test.ts: a service that dies %s never writes twice, and the repeat says what is known',
      ],
    'The service repeats nothing because an answer was lost: the result says `maybe`.': [
      'test/contract/hostile-handlers.test.ts: a write tool that throws %s may have done it',
      'test/contract/hostile-isolated-deaths.system.test.ts: what %s did before is not known',
    ],
  },
  'API7 Server Side Request Forgery': {
    'Addresses are checked, not names: no spelling of a private address is reached.': [
      'test/contract/hostile-ssrf.test.ts: no spelling of loopback is reached, and no packet is sent',
      'test/contract/hostile-ssrf.test.ts: %s is not public',
    ],
    'Addresses of this machine and its networks are refused unless FETCH_ALLOW_ADDRESSES names them.': [
      'packages/toolkit-kit/test/egress/address-policy.test.ts: an address of this machine or of a network it is attached to is not fetched from: %s',
      'test/contract/fetch-allowed.test.ts: fetch_url reaches the addresses that FETCH_ALLOW_ADDRESSES names, and no neighbour of them',
    ],
    'The connection goes to the address that was checked: DNS cannot change it in between.': [
      'packages/toolkit-web/test/fetch-url-ssrf.test.ts: the connection goes to the address that was checked: no second look-up can change it',
    ],
    'Every redirect is checked; credentials stay with their origin.': [
      'packages/toolkit-web/test/fetch-url-ssrf.test.ts: a public page that redirects to %s is refused at that hop',
      'packages/toolkit-kit/test/egress/redirects.test.ts: only harmless headers go to %s',
    ],
    'Proxies of the environment are not used, verified in the started process.': [
      'test/contract/hostile-door-proxy.test.ts: proxies of the environment are asked for nothing: not for a URL of a model, not for the keys of tokens',
      'test/contract/hostile-door-proxy.test.ts: where Node is told to use them, keys of tokens are asked for through them, and what a model names still is not',
    ],
    "The cluster's network policy forbids it as well.": [
      'test/deploy/kubernetes-network.system.test.ts: no tool reaches %s',
    ],
  },
  'API8 Security Misconfiguration': {
    'A wrong setting ends the start; the default is loopback.': [
      'test/e2e/process-start.system.test.ts: every mistake in the settings is listed at once, a line each, whatever its kind',
      'test/e2e/process-start.system.test.ts: started by %s without settings it serves on loopback and keeps budgets in memory',
    ],
    'Pages of other origins are refused, with or without a key; no CORS headers are sent.': [
      'test/contract/hostile-auth.test.ts: a page from another origin is refused, also with a right key',
      'test/contract/hostile-gate.test.ts: a page from the origin %s may call, and gets no CORS header',
    ],
    'Without keys, a host name other than loopback is refused (DNS rebinding).': [
      'test/contract/hostile-gate.test.ts: while anonymous, a browser that asked for another host than loopback is refused: DNS rebinding',
    ],
    'Forwarding headers are ignored.': [
      'test/contract/hostile-gate.test.ts: forwarding headers change nothing and are believed by nobody',
    ],
    'Health and metrics can be moved to a port of their own.': [
      'test/e2e/ops-port.system.test.ts: with OPS_PORT health and metrics are there, and nowhere else',
    ],
    'Pages are sent with a strict policy and cannot be framed; DOCS=false removes the documentation.': [
      'test/contract/quiet-door.test.ts: %s is sent with a policy: nothing from elsewhere, no script in the page, no frame around it, no sniffing',
      'test/contract/quiet-door.test.ts: DOCS=false leaves the documentation out, and nothing else',
    ],
    "`/ready` names required tools and files, and the reason of an upstream's failure, only to a caller with a key, or on OPS_PORT.":
      [
        'test/contract/quiet-door.test.ts: without a good key /ready names upstreams and how they stand, and with one why',
        'test/contract/quiet-door.test.ts: without a good key /ready says how it stands, and with one which files do not load and why, and which tools are missing',
      ],
    'A wrong tool name costs little, however many tools there are.': [
      'test/executor/suggest-names.test.ts: 64 wrong names against 5 000 tools cost milliseconds, and each is told of tools',
    ],
    'Scrapes of metrics share one collection a second.': [
      'test/contract/quiet-door.test.ts: two scrapes within a second are one collection',
    ],
    'The console has a strict content security policy, holds no data and can be removed.': [
      'packages/console/test/console-routes.test.ts: the page is served without a key, under a strict policy, and is asked for anew every time',
      'packages/console/test/console-routes.test.ts: the console is no part of the API document, and CONSOLE=false leaves it out',
    ],
    'A key typed into the console stays in its tab; no other site can frame it or hold its window.': [
      'packages/console/test/console-same-origin.system.test.ts: the key is in the tab and nowhere else, and in no address that was asked for',
      'packages/console/test/console-same-origin.system.test.ts: another site can neither frame the console nor keep a hand on it, and its messages change nothing',
      'packages/console/test/console-access.system.test.ts: a key is asked for, sent as a header alone, kept for the tab, and forgotten',
    ],
    "`/docs` loads this service's document only, whatever its address says.": [
      'packages/console/test/console-same-origin.system.test.ts: /docs shows the document of this service, whatever its address says, and asks nobody else',
    ],
    'Containers run without root and capabilities, read-only, with limits of memory and processes.': [
      'test/deploy/compose.system.test.ts: %s has a read-only root, no capabilities and no way to new privileges',
      'test/deploy/dockerfile.test.ts: the image starts node itself, not as root',
    ],
    'Names, ids and token subjects forge no log line.': [
      'test/contract/hostile-door.test.ts: line breaks, JSON and ANSI codes in ids, names, arguments and subjects of tokens forge no line of the log',
    ],
  },
  'API9 Improper Inventory Management': {
    'The OpenAPI document is made from the code, and a fuzzer compares answers with it.': [
      'test/architecture/drift.test.ts: every generated document says what the code says',
      'test/contract/fuzz-openapi.system.test.ts: requests made from the document (seed %i): none of %i is answered otherwise than it says',
    ],
    'Every path outside it is a 404.': ['test/contract/hostile-methods-and-paths.test.ts: %s is not found'],
    '`GET /tools` lists each tool with its source, and why one is unavailable.': [
      'test/contract/hostile-isolated-loading.system.test.ts: %s is unavailable, with the reason, and nothing else is',
    ],
    'Of two tools with one name the reason names both files.': [
      'test/contract/hostile-isolated-loading.system.test.ts: of two tools of one name the reason names both files',
    ],
    'Every metric, setting and file that a page names exists.': [
      'test/architecture/documents.test.ts: every setting that a page names is one',
      'test/architecture/metric-names.test.ts: every metric of the service is in docs/metrics.md, and is drawn by the dashboard',
    ],
  },
  'API10 Unsafe Consumption of APIs': {
    'Answers of upstreams are bounded in size, time and redirects; certificates are checked.': [
      'packages/toolkit-web/test/fetch-url-redirects.test.ts: %i redirects are refused after the fifth',
      'packages/toolkit-web/test/fetch-url-redirects.test.ts: a certificate nobody vouches for is a failure that is not tried again',
    ],
    'An upstream cannot occupy event loop or memory: its data is counted before it is parsed.': [
      'packages/upstream-mcp/test/hostile-http.test.ts: a stream that pours %s ends its connection, which is made anew',
      'packages/upstream-mcp/test/hostile-http.test.ts: an answer full of %s is too large, as one body',
      'packages/upstream-mcp/test/hostile-stdio.test.ts: a tool whose schema takes long to compile is unavailable, and the others serve',
      'packages/toolkit-web/test/fetch-url-bomb.test.ts: pages that come a byte at a time take no more memory than others',
    ],
    'Messages of tool hosts need the nonce of their call; those under another one are dropped.': [
      'test/contract/hostile-isolated-channel.system.test.ts: an answer under a nonce that nobody gave is dropped, and the genuine one counts',
      'test/contract/hostile-isolated-channel.system.test.ts: a code that is for the service to say is dropped',
    ],
    'Damaged records of Redis are read as unknown, break nothing and run nothing twice.': [
      'test/sessions/idempotency/damaged-keyed-records.test.ts: a record whose head reads %j begins anew: every call in it is known to have begun',
      'test/contract/hostile-redis-data.system.test.ts: a field of which nothing can be made says nothing, and no field at all ends a batch',
      'test/contract/idempotency-replicas.test.ts: a stored result that is %s is no bug of ours, and its call is unknown and does not run again',
    ],
    'With STORE_KEYS a call or a message that something else wrote into Redis or a file of SQLite is not acted on.': [
      'packages/background/test/calls/sealed-calls.test.ts: a call $title where its record is $change',
      'packages/background/test/webhooks/sealed-deliveries.test.ts: a message that was %s is not sent, and is counted',
    ],
    'The TypeScript client bounds answers, follows no redirect and repeats its key in no error.': [
      'test/clients/typescript/hostile-server.system.test.ts: a body without an end under %i is read no further than the limit',
      'test/clients/typescript/hostile-server.system.test.ts: a redirect by %i to another host is not followed, nor is the key',
      'test/clients/typescript/hostile-secrets.system.test.ts: the key is in no error where something else than HTTP %s',
    ],
    'An issuer that answers nonsense, or never, admits no caller.': [
      'test/auth/tokens.test.ts: while an issuer %s nobody can be told, and it is asked once for all who wait',
    ],
    'A collector that fails or hangs costs no call.': [
      'test/e2e/traces-collector.system.test.ts: a collector that is not there, hangs or talks garbage costs no call, and does not keep the service from stopping',
    ],
  },
  'ASI01 Agent Goal Hijack': {
    "Text decides nothing: failures are declared, never read out of a tool's text.": [
      'test/contract/hostile-outputs.test.ts: a tool that returns %s succeeds, whatever its text looks like',
    ],
    'A similar name is not run as the tool it resembles.': [
      'test/contract/hostile-entries.test.ts: no tool is called %j: the names there are, the nearest first',
    ],
  },
  'ASI02 Tool Misuse and Exploitation': {
    'Arguments are checked before the handler; unreadable ones are never run as `{}`.': [
      'test/contract/hostile-arguments.test.ts: the text %j is no JSON, which is said with the place; nothing is run instead',
      'test/contract/hostile-arguments.test.ts: every kind of bad arguments in one batch: each is told its own, and the good ones run',
    ],
    'File tools stay in WORKSPACE_DIR, also with links, races, devices and hard links.': [
      'test/contract/hostile-workspace.test.ts: %s: no hostile path leads anywhere, in one batch with good calls',
      'packages/toolkit-files/test/read-file-hostile.test.ts: %s that becomes a link out during the call never gives the secret',
      'packages/toolkit-files/test/search-files-race.system.test.ts: %s below the path that becomes a link out during the search never gives the secret',
    ],
    'Without `/proc` (macOS) they compare paths, devices and inodes, and promise less against local processes.': [
      'packages/toolkit-kit/test/workspace/workspace-by-path.system.test.ts: a file is not read where a process replaced %s before it was opened',
      'packages/toolkit-kit/test/workspace/workspace-by-path.system.test.ts: a directory that became a link out is neither listed nor written to',
    ],
    'Nothing is written below a `.git` step, by any spelling or link.': [
      'test/contract/hostile-git-paths.test.ts: nothing is written below a .git step or as a repository, however it is spelt and whatever link leads there, in batches with good calls',
    ],
    'A failure says what to do, and "again" only where that helps.': [
      'test/contract/hostile-texts.test.ts: "again" is offered only where the outcome is retry',
    ],
  },
  'ASI03 Identity and Privilege Abuse': {
    'A key has tenant, tools, operations, rate and expiry; a token has scopes.': [
      'test/auth/api-key.test.ts: attributes stand after the hash, in any order, between any blanks',
      'test/contract/hostile-auth-tokens.test.ts: scopes decide: without one nothing is allowed, and tools are those that are named',
    ],
    "Tools get granted variables only, not the caller's key or the service's environment.": [
      'test/contract/hostile-isolated-context.system.test.ts: a tool sees the variables that it was given, and no other',
    ],
    'A text that only begins like a secret is returned unchanged: no caller finds a secret by characters.': [
      'test/hostile/oracle.system.test.ts: what only begins like a secret comes back as any other text, in results, sessions and the log',
      'test/hostile/oracle-catalogue.system.test.ts: what a tool says of itself that only begins like a secret stands in the catalogue as any other text',
    ],
    "The caller's own key is redacted where a tool quotes it.": [
      'test/contract/hostile-door.test.ts: secrets in the text of a failure stand in no result, log line, span, journal or metric',
    ],
  },
  'ASI04 Agentic Supply Chain Vulnerabilities': {
    'The image installs what the lock file names, by hash, with a bill of materials.': [
      'test/deploy/dockerfile.test.ts: the image installs production dependencies without a second Node',
      'test/deploy/sbom.system.test.ts: its components are what is installed for production, each with its address, licence and hash',
    ],
    'Packages are used, and processes started, only where a table allows it.': [
      'test/architecture/imports.test.ts: packages are used only where the table allows them',
      'test/architecture/imports.test.ts: processes are started by three files alone: for tool hosts, MCP servers with their watch, and commands',
    ],
    'A tool file that breaks while loading is unavailable alone.': [
      'test/contract/hostile-isolated-loading.system.test.ts: %s is unavailable, with the reason, and nothing else is',
    ],
    'A tool of a directory cannot take the name of a serving tool.': [
      "packages/tool-hosts/test/directory/tool-names.test.ts: a tool called like one of the service's own is refused, at start and later",
    ],
    'The console loads nothing from elsewhere.': [
      'packages/console/test/console-routes.test.ts: the page is served without a key, under a strict policy, and is asked for anew every time',
    ],
  },
  'ASI05 Unexpected Code Execution (RCE)': {
    'No default tool runs code; a search pattern is plain text.': [
      'test/contract/hostile-workspace.test.ts: a search pattern that would blow up as a regular expression is plain text',
      'test/contract/tool-groups.test.ts: none of the further tools is offered unless its group is named',
    ],
    'Control files in WORKSPACE_DIR are refused, at the start and on each change.': [
      'test/e2e/control-files.system.test.ts: one start names every control file that lies in the workspace, each with its path',
      'test/e2e/control-files.system.test.ts: links count by where they lead and by where they lie',
      'test/e2e/control-files.system.test.ts: what the configuration file names is refused by its member, and no value of the file is repeated',
      'test/cli/serve.test.ts: a file of variables that tools could write is refused',
      'test/config/file/control-files-reload.system.test.ts: a version of the configuration file that names code in the workspace is refused, and the one before serves',
    ],
    'A module of EXTENSIONS that lies in WORKSPACE_DIR is refused before it runs.': [
      'test/extensions/load-extensions.test.ts: a file that must not be loaded does not run',
      'test/config/extensions-in-the-workspace.test.ts: a module of EXTENSIONS in the workspace is a mistake, and does not run',
    ],
    "The shell runs in namespaces without network, capabilities and the service's environment, or is not offered.": [
      'packages/toolkit-shell/test/hostile-isolation.system.test.ts: nothing leads to the network, not to a listener on this machine either',
      'packages/toolkit-shell/test/hostile-isolation.system.test.ts: processes outside cannot be seen, signalled or traced',
      'packages/toolkit-shell/test/refusals.system.test.ts: a bubblewrap that runs commands without isolation is found out',
    ],
    'What a command starts is bounded and ends with it.': [
      'packages/toolkit-shell/test/hostile-limits.system.test.ts: the fork bomb %s is contained',
      'packages/toolkit-shell/test/hostile-memory.system.test.ts: memory that no process shows as its own is bounded: %s',
      'packages/toolkit-shell/test/leavings.system.test.ts: a thousand commands leave no process, no file and no open descriptor behind',
      'packages/toolkit-shell/test/leavings.system.test.ts: a service that is killed takes its commands with it',
    ],
    'No command ends the service through kernel limits per user, unless SHELL_EPOLL allows epoll.': [
      'packages/toolkit-shell/test/hostile-accounts.system.test.ts: commands that take all epoll watches they can get do not end the service',
      'packages/toolkit-shell/test/hostile-accounts.system.test.ts: what the kernel counts for each user is closed to commands, or bounded for each of them',
      'packages/toolkit-shell/test/hostile-accounts.system.test.ts: with all pipe pages of the user in use the service runs commands, with smaller pipes',
    ],
    'Files of a tools directory take turns in processes; one that changes what they share is set apart.': [
      'packages/tool-hosts/test/shared-process.system.test.ts: no other file runs in a process whose shared objects and settings a file has changed (part $part)',
      'packages/tool-hosts/test/shared-process.system.test.ts: what Node lists of a process leads to neither line to the service',
      'packages/tool-hosts/test/neighbours.system.test.ts: a file that %s has changed nothing for another',
      'packages/tool-hosts/test/neighbours.system.test.ts: files that are granted other variables share no process',
    ],
    'A write is not run twice, also when its process ends behind a large answer or while further calls are sent.': [
      'packages/tool-hosts/test/last-words.test.ts: a write whose host ends is not run again, though the word that it begins stood behind a large answer',
      'packages/tool-hosts/test/last-words.test.ts: a write whose host ends is not run again, though further calls were sent to that host before its last words were read',
    ],
    'Tools of a directory run outside the service; what they change there is gone.': [
      'test/contract/hostile-isolated-mutations.system.test.ts: the service itself has seen nothing of it',
      'test/contract/hostile-isolated-deaths.system.test.ts: %s takes only itself with it, alone and among 63 good calls',
    ],
    'What they leave behind is killed, also when the service is.': [
      'test/contract/hostile-isolated-grandchildren.system.test.ts: what %s is killed with the process of its tool, alone and among 63 good calls',
      'test/e2e/tool-hosts-orphaned.system.test.ts: when the service is killed, what tools started ends too',
    ],
    'Node refuses what TOOLS_PERMISSIONS leaves out.': [
      'test/contract/hostile-isolated-context.system.test.ts: %s is refused where the operator has not granted %s',
    ],
    'Hostile names are shown as text in the console; a script in the page does not run.': [
      'packages/console/test/console-hostile.system.test.ts: what a tool is called and says is shown as text, with hidden characters written out',
      'packages/console/test/console-hostile.system.test.ts: a script that found its way into the page would not run',
    ],
  },
  'ASI06 Memory & Context Poisoning': {
    'Kept results return byte for byte, to the same body only.': [
      'test/contract/idempotency.test.ts: the same body again gives the stored results byte for byte, marked, and runs and costs nothing',
      'test/contract/idempotency-bodies.test.ts: %s is another body: 422, and nothing runs',
    ],
    'A journal is bounded, cut and without secrets.': [
      'test/contract/journal.test.ts: the last %d calls are kept, of one batch as of many',
      'test/contract/journal-secrets.test.ts: messages are entered without secrets and at most 500 characters long',
    ],
  },
  'ASI07 Insecure Inter-Agent Communication': {
    'Every request is authenticated by itself; identity headers are ignored.': [
      'test/contract/hostile-auth.test.ts: a key that comes too often is told when it may come again; others are not held back',
    ],
    'A malformed `traceparent` is ignored; a valid one decides only the trace.': [
      'test/contract/hostile-door.test.ts: a traceparent that is none is ignored: the call runs, and the log names no trace',
    ],
    'Only the service reaches Redis, which asks for a password that you make.': [
      'test/deploy/compose.system.test.ts: Redis is reached by the service alone, on a network without a way out',
      'test/deploy/kubernetes-network.system.test.ts: the service is reached by labelled callers, its metrics by the namespace of Prometheus, Redis by the service',
      'test/deploy/redis-password.system.test.ts: the Redis of %s lets in who has the password, which no command line shows, and ends when it is told to',
    ],
  },
  'ASI08 Cascading Failures': {
    'A failing or hanging tool takes nothing from others.': [
      'test/contract/hostile-overload.system.test.ts: a tool that hangs for ever fills its own slots and takes nothing from the others',
      'test/contract/hostile-isolated-all-at-once.system.test.ts: everything at once costs 34 good calls of the same batch nothing',
    ],
    'A circuit breaker stops calls to a tool or upstream that is down.': [
      'test/contract/circuits.test.ts: faults of two batches open it; what it refuses is told for how long, is not charged and costs no retry',
    ],
    'A schema of a document or MCP server does not hold up the service.': [
      'packages/upstream-openapi/test/hostile-schemas.test.ts: a pattern that takes its length times that of the text is cut off, and the arguments are refused',
      'packages/upstream-openapi/test/hostile-schemas.test.ts: a schema that no validator can be made of refuses arguments, the same each time',
    ],
    'A document that unpacks to too much is refused; others are served meanwhile.': [
      'packages/upstream-openapi/test/hostile-documents.system.test.ts: a document of %s is refused, and the one before serves',
      'packages/upstream-openapi/test/hostile-documents.system.test.ts: while a document of YAML is parsed other work has its turns',
    ],
    'The catalogue stays small, whatever a document contains.': [
      'packages/upstream-openapi/test/hostile-documents.system.test.ts: an operation whose schema is larger than 256 KiB is unavailable, wherever its text stands',
      'packages/upstream-openapi/test/hostile-documents.system.test.ts: the schemas of one import come to 16 MiB: a text that all operations share does not fill the catalogue',
    ],
    'Tools that compute leave event loop time to others.': [
      'test/contract/hostile-compute.test.ts: sixty calls at once that compute for 10 ms are all answered, five in a turn of the event loop',
    ],
    'Alerts tell faults of the service from those of tools and callers.': [
      'test/deploy/alerts-promtool.system.test.ts: the alerts fire when they should, with these words, and not else: %s',
    ],
  },
  'ASI09 Human-Agent Trust Exploitation': {
    'The console asks before it runs a tool that writes or does not say what it changes.': [
      'packages/console/test/console.system.test.ts: a write tool runs only after it was confirmed',
      'packages/console/test/console-heavy.system.test.ts: whatever is not known to do no harm is asked about first',
    ],
    'It shows text of tools and models as text, with hidden characters written out.': [
      'packages/console/test/page-texts.test.ts: characters that hide or turn others are written out, and those that scripts need are left',
      'packages/console/test/page-texts.test.ts: what is shown as nothing or as a blank is written out (%#)',
      'packages/console/test/console-hostile.system.test.ts: a session whose id, calls and arguments are hostile is shown as text',
    ],
    'A link from a stranger shows no data and runs nothing.': [
      'packages/console/test/console-hostile.system.test.ts: an address made by a stranger shows no tool and no session, and runs nothing',
    ],
    'It stays usable with any schema, catalogue or result.': [
      'packages/console/test/console-heavy.system.test.ts: a schema without measure leaves the page usable: %s',
      'packages/console/test/console-heavy.system.test.ts: a large result is prepared once, and not at every key',
    ],
    'A failure counts as a failure everywhere, although HTTP says 200.': [
      'test/contract/seeds.test.ts: seed 003: a failed call with a null value is counted and logged, never dropped',
    ],
    'A person approves what will run, with all its arguments, under its digest; other arguments ask again.': [
      'packages/decide/test/approvals-model.test.ts: in random schedules of approvals, denials, edits, expiries, deaths, reloads and revoked keys, what runs was approved, and runs once',
      'packages/decide/test/approvals.test.ts: a call that a person has to approve is refused until then, and runs once after that',
    ],
  },
  'ASI10 Rogue Agents': {
    'Journal, log by tenant and key, and traces show what it did.': [
      'test/contract/journal.test.ts: every call is entered once, in its place, however it ended',
      'test/contract/hostile-auth-tokens.test.ts: a token lets its tenant in, its subject stands in the log, and the token nowhere',
      'test/contract/hostile-door.test.ts: line breaks, JSON and ANSI codes in ids, names, arguments and subjects of tokens forge no line of the log',
      'test/e2e/traces.system.test.ts: a batch is a server span with one span per call beneath it',
    ],
    'An agent that loops or exhausts its retries raises an alert.': [
      'test/deploy/alerts-promtool.system.test.ts: the alerts fire when they should, with these words, and not else: %s',
    ],
  },
};
