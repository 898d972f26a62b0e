/** What goes back over HTTP, before it is text. */
export type Reply =
  | {
      readonly kind: 'json'
      readonly status: number
      readonly body: object
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Accepted, and nothing to say. */
  | { readonly kind: 'empty'; readonly status: 202 }
  /** Each message one event of a text/event-stream. */
  | { readonly kind: 'stream'; readonly messages: AsyncGenerator<object>; readonly close: () => void }

export function rpcResult(id: string | number, result: object): object {
  return { jsonrpc: '2.0', id, result }
}

export function rpcError(
  id: string | number | undefined,
  { code, message, data }: { code: number; message: string; data?: object },
): object {
  return {
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    error: { code, message, ...(data === undefined ? {} : { data }) },
  }
}

export function json(status: number, body: object): Reply & { kind: 'json' } {
  return { kind: 'json', status, body }
}
