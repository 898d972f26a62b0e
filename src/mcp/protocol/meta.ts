/** Reads `_meta`, the member of `params` for data other than arguments. */
import { isRecord, type MessageParams } from './message.ts'

export const metaKeys = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

export function metaOf(params: MessageParams): MessageParams {
  const meta = params['_meta']
  return isRecord(meta) ? meta : {}
}
