/**
 * The service under the conformance suite, behind a proxy that adds the access token, because the suite cannot send one.
 */
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { authorizeClient } from '../support/mcp-client.ts'
import { startService, type TestService } from '../support/service.ts'
import { declareFixtures } from './fixtures.ts'

export interface Subject {
  /** Address for the suite. */
  readonly url: string
  readonly service: TestService
  close(): Promise<void>
}

export async function startSubject(databaseUrl: string): Promise<Subject> {
  const door = createServer()
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
  const url = `http://localhost:${(door.address() as AddressInfo).port}`
  // The suite sends the origin of the proxy.
  const service = await startService(databaseUrl, {
    declare: declareFixtures,
    listen: true,
    mcpOrigins: [url, url.replace('localhost', '127.0.0.1')],
    logLevel: 'error',
  })
  const actor = await service.createActor('conformance@example.com')
  const { token } = await authorizeClient(service, actor, { relationship: 'conformance' })
  door.on('request', (request, response) => {
    const onward = httpRequest(
      `${service.url}${request.url ?? ''}`,
      { method: request.method, headers: { ...request.headers, authorization: `Bearer ${token}` } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  return {
    url: `${url}/mcp`,
    service,
    close: async () => {
      await closed(door)
      await service.close()
    },
  }
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
