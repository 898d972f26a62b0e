/** 2024-11-05 to 2025-11-25: what a later one has and an earlier one has not is left out or put in the words it has. */
import type { McpFailureKind } from '../protocol/failure.ts'
import { isRecord, type Params } from '../protocol/message.ts'
import { type LegacyRevision, since } from '../protocol/revisions.ts'
import type { Codec } from './codec.ts'

const codes: Readonly<Record<McpFailureKind, number>> = {
  unknown_method: -32601,
  invalid_params: -32602,
  unknown_tool: -32601,
  unknown_prompt: -32602,
  unknown_resource: -32002,
  not_permitted: -32003,
  missing_capability: -32603,
  url_elicitation: -32042,
  headers_differ: -32602,
  internal: -32603,
}

export function legacyCodec(revision: LegacyRevision): Codec {
  return {
    revision,
    result: (method, result) => encode(revision, method, result.kind === 'complete' ? result.body : {}),
    failure(method, { kind, message, data }) {
      // Older clients cannot be asked, and have no error that says so; a model can read this.
      if (method === 'tools/call' && (kind === 'missing_capability' || isUnknownElicitation(revision, kind))) {
        return { result: { content: [{ type: 'text', text: textOf(message, data) }], isError: true } }
      }
      return { status: 200, code: codes[kind], message, ...dataOf(kind, data) }
    },
  }
}

function isUnknownElicitation(revision: LegacyRevision, kind: McpFailureKind): boolean {
  return kind === 'url_elicitation' && !since(revision, '2025-11-25')
}

/** With the address to open, where there is one. */
function textOf(message: string, data: object | undefined): string {
  const elicitations = isRecord(data) ? data['elicitations'] : undefined
  const first: unknown = Array.isArray(elicitations) ? elicitations[0] : undefined
  return isRecord(first) && typeof first['url'] === 'string' ? `${message}: ${first['url']}` : message
}

function dataOf(kind: McpFailureKind, data: object | undefined): { data?: object } {
  return data !== undefined && (kind === 'unknown_resource' || kind === 'url_elicitation') ? { data } : {}
}

function encode(revision: LegacyRevision, method: string, body: Params): Params {
  switch (method) {
    case 'tools/list':
      return { ...body, tools: each(body['tools'], (tool) => toolFor(revision, tool)) }
    case 'prompts/list':
      return { ...body, prompts: each(body['prompts'], (prompt) => promptFor(revision, prompt)) }
    case 'resources/list':
      return { ...body, resources: each(body['resources'], (resource) => downgradeMetadata(revision, resource)) }
    case 'resources/templates/list':
      return {
        ...body,
        resourceTemplates: each(body['resourceTemplates'], (template) => downgradeMetadata(revision, template)),
      }
    case 'tools/call':
      return callFor(revision, body)
    case 'prompts/get':
      return { ...body, messages: each(body['messages'], (message) => messageFor(revision, message)) }
    default:
      return body
  }
}

function callFor(revision: LegacyRevision, { structuredContent, content, ...rest }: Params): Params {
  const keeps = since(revision, '2025-06-18') && isRecord(structuredContent)
  return {
    ...rest,
    content: each(content, (block) => contentFor(revision, block)),
    ...(keeps ? { structuredContent } : {}),
  }
}

function toolFor(revision: LegacyRevision, tool: Params): Params {
  const { outputSchema, annotations, ...rest } = downgradeMetadata(revision, tool)
  const hasOutput = since(revision, '2025-06-18') && isRecord(outputSchema) && outputSchema['type'] === 'object'
  return {
    ...rest,
    ...(hasOutput ? { outputSchema } : {}),
    ...(annotations !== undefined && since(revision, '2025-03-26') ? { annotations } : {}),
  }
}

function promptFor(revision: LegacyRevision, prompt: Params): Params {
  const displayMetadata = downgradeMetadata(revision, prompt)
  return displayMetadata['arguments'] === undefined
    ? displayMetadata
    : {
        ...displayMetadata,
        arguments: each(displayMetadata['arguments'], (argument) => downgradeMetadata(revision, argument)),
      }
}

function downgradeMetadata(revision: LegacyRevision, { title, icons, ...rest }: Params): Params {
  return {
    ...rest,
    ...(title !== undefined && since(revision, '2025-06-18') ? { title } : {}),
    ...(icons !== undefined && since(revision, '2025-11-25') ? { icons } : {}),
  }
}

function messageFor(revision: LegacyRevision, message: Params): Params {
  return isRecord(message['content']) ? { ...message, content: contentFor(revision, message['content']) } : message
}

function contentFor(revision: LegacyRevision, block: Params): Params {
  if (block['type'] === 'resource_link' && !since(revision, '2025-06-18')) {
    return { type: 'text', text: `${asText(block['name'])}: ${asText(block['uri'])}` }
  }
  if (block['type'] === 'audio' && !since(revision, '2025-03-26')) {
    return { type: 'text', text: `[audio, ${asText(block['mimeType'])}]` }
  }
  return block
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function each(list: unknown, convert: (item: Params) => Params): readonly unknown[] {
  return Array.isArray(list) ? list.map((item: unknown) => (isRecord(item) ? convert(item) : item)) : []
}
