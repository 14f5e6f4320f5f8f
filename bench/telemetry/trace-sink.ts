import { createServer } from 'node:http';
import { listenForBench } from '../listen-for-bench.ts';

/** Takes whatever spans are sent to it, and says thanks. */
listenForBench(
  createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  }),
);
