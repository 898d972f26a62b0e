/** Reads answers of servers that may be another service, or an attacker. */

/** The first bytes of the body, so that no server can fill the memory. */
export async function bytesOf({ body }: Response, most: number): Promise<Buffer> {
  if (body === null) return Buffer.alloc(0)
  const stream: AsyncIterable<Uint8Array> = body
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    length += chunk.length
    if (length > most) break
  }
  return Buffer.concat(chunks).subarray(0, most)
}
