/** Reads server-sent events (WHATWG HTML, "Server-sent events") from a response, because EventSource sends no token. */

export interface ServerEvent {
  readonly event: string
  readonly data: string
}

/** Yields the events of a body. Comments, ids and retry times are skipped. */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = eventOf(block)
        if (event.data !== '') yield event
      }
    }
  } finally {
    await reader.cancel()
  }
}

function eventOf(block: string): ServerEvent {
  let event = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) event = line.slice(6).trim()
    if (line.startsWith('data:')) data.push(line.slice(5).trim())
  }
  return { event, data: data.join('\n') }
}
