/** Removes or converts the parts of results that an older revision does not have. */
import { isRecord, type MessageParams } from '../protocol/message.ts'
import { type LegacyRevision, since } from '../protocol/revisions.ts'

export function downgradeTools(revision: LegacyRevision, body: MessageParams): MessageParams {
  return { ...body, tools: each(body['tools'], (tool) => toolFor(revision, tool)) }
}

export function downgradePrompts(revision: LegacyRevision, body: MessageParams): MessageParams {
  return { ...body, prompts: each(body['prompts'], (prompt) => promptFor(revision, prompt)) }
}

export function downgradeResources(revision: LegacyRevision, body: MessageParams): MessageParams {
  return { ...body, resources: each(body['resources'], (resource) => downgradeMetadata(revision, resource)) }
}

export function downgradeResourceTemplates(revision: LegacyRevision, body: MessageParams): MessageParams {
  return {
    ...body,
    resourceTemplates: each(body['resourceTemplates'], (template) => downgradeMetadata(revision, template)),
  }
}

export function downgradePromptMessages(revision: LegacyRevision, body: MessageParams): MessageParams {
  return { ...body, messages: each(body['messages'], (message) => messageFor(revision, message)) }
}

export function downgradeCallResult(
  revision: LegacyRevision,
  { structuredContent, content, ...rest }: MessageParams,
): MessageParams {
  const keeps = since(revision, '2025-06-18') && isRecord(structuredContent)
  return {
    ...rest,
    content: each(content, (block) => contentFor(revision, block)),
    ...(keeps ? { structuredContent } : {}),
  }
}

function toolFor(revision: LegacyRevision, tool: MessageParams): MessageParams {
  const { outputSchema, annotations, ...rest } = downgradeMetadata(revision, tool)
  const hasOutput = since(revision, '2025-06-18') && isRecord(outputSchema) && outputSchema['type'] === 'object'
  return {
    ...rest,
    ...(hasOutput ? { outputSchema } : {}),
    ...(annotations !== undefined && since(revision, '2025-03-26') ? { annotations } : {}),
  }
}

function promptFor(revision: LegacyRevision, prompt: MessageParams): MessageParams {
  const displayMetadata = downgradeMetadata(revision, prompt)
  return displayMetadata['arguments'] === undefined
    ? displayMetadata
    : {
        ...displayMetadata,
        arguments: each(displayMetadata['arguments'], (argument) => downgradeMetadata(revision, argument)),
      }
}

function downgradeMetadata(revision: LegacyRevision, { title, icons, ...rest }: MessageParams): MessageParams {
  return {
    ...rest,
    ...(title !== undefined && since(revision, '2025-06-18') ? { title } : {}),
    ...(icons !== undefined && since(revision, '2025-11-25') ? { icons } : {}),
  }
}

function messageFor(revision: LegacyRevision, message: MessageParams): MessageParams {
  return isRecord(message['content']) ? { ...message, content: contentFor(revision, message['content']) } : message
}

function contentFor(revision: LegacyRevision, block: MessageParams): MessageParams {
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

function each(list: unknown, convert: (item: MessageParams) => MessageParams): readonly unknown[] {
  return Array.isArray(list) ? list.map((item: unknown) => (isRecord(item) ? convert(item) : item)) : []
}
