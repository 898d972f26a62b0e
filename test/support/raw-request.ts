/** Sends requests with an unchanged path, because `fetch` resolves dot segments and normalizes malformed paths. */
import { type Agent, request } from 'node:http'

export interface RawResponse {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: string
}

export function rawRequest(
  base: string,
  method: string,
  path: string,
  { headers = {}, body, agent }: { headers?: Record<string, string | string[]>; body?: string; agent?: Agent } = {},
): Promise<RawResponse> {
  const { hostname, port } = new URL(base)
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { hostname, port, method, path, headers, ...(agent === undefined ? {} : { agent }) },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        )
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
