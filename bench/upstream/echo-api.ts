import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenForBench } from '../listen-for-bench.ts';

// The least that an API can do: what it was sent is what it answers.
const answer = (request: IncomingMessage, response: ServerResponse): void => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.once('end', () => {
    const body = Buffer.concat(pieces);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(body.length) }).end(body);
  });
};

listenForBench(createServer(answer));
