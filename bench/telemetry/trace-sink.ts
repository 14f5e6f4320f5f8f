import { createServer } from 'node:http';

/** Takes whatever spans are sent to it, and says thanks. */
createServer((request, response) => {
  request.resume().once('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
}).listen(Number(process.argv[2]), '127.0.0.1');
