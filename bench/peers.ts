/** A process that acts as many peers on one port. It counts each request and answers 204. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Arrived {
  readonly count: number
  /** Time of the first arrival since the last reset, in milliseconds of the machine's clock. `last` is the latest one. */
  readonly first: number
  readonly last: number
}

let arrived: Arrived = { count: 0, first: 0, last: 0 }
const clock = (): number => performance.timeOrigin + performance.now()

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.on('data', () => {})
  request.on('end', () => {
    const now = clock()
    arrived = { count: arrived.count + 1, first: arrived.count === 0 ? now : arrived.first, last: now }
    response.writeHead(204).end()
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))

process.on('message', (message: 'arrived' | 'reset') => {
  if (message === 'reset') arrived = { count: 0, first: 0, last: 0 }
  process.send?.(arrived)
})
