/** The bound of files: a bare node:http server that stores the body of a PUT on the disk, and sends a file as it is. */
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { rename, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { serveMeasurements } from './subject.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-bare-files-'))
let uploads = 0

const server = createServer((request, response) => {
  const file = join(folder, (request.url ?? '').replaceAll('/', '_'))
  void (request.method === 'PUT' ? store(request, response, file) : send(response, file))
})

async function store(request: IncomingMessage, response: ServerResponse, file: string): Promise<void> {
  const part = `${file}.${++uploads}`
  await pipeline(request, createWriteStream(part, { flush: true }))
  await rename(part, file)
  response.writeHead(204).end()
}

async function send(response: ServerResponse, file: string): Promise<void> {
  response.writeHead(200, { 'Content-Length': (await stat(file)).size })
  await pipeline(createReadStream(file), response)
}

server.listen(0, '127.0.0.1', () => {
  serveMeasurements((server.address() as AddressInfo).port, async () => {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
})
