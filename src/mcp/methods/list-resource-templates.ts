/** `resources/templates/list`: the templates that the client may read: declared ones, and the template for list items. */
import { itemsTemplate } from '../../permission/property-address.ts'
import type { McpRequest } from '../call/call.ts'
import { displayMetadata } from '../catalogue/catalogue.ts'
import type { McpDeps } from '../deps.ts'
import { pageOf } from '../protocol/cursor.ts'
import { complete, type McpResult } from '../protocol/result.ts'
import { itemsAtOnce } from './read-resource.ts'

export async function listResourceTemplates(deps: McpDeps, call: McpRequest): Promise<McpResult> {
  const { actor, caller } = call.access
  const templates = deps.catalogues.of(actor).resources.filter(({ template }) => template.isTemplate)
  const readable = await deps.permission.filter(actor.id, caller, { category: 'resources', right: 'read' }, [
    ...templates.map(({ template }) => template.text),
    itemsTemplate,
  ])
  const declared = templates
    .filter(({ template }) => readable.has(template.text))
    .map(({ template, name, declaration, description, mimeType }) => ({
      uriTemplate: template.text,
      name,
      ...displayMetadata(declaration),
      description,
      mimeType,
    }))
  const own = {
    uriTemplate: itemsTemplate,
    name: 'items of a list',
    description: `${itemsAtOnce} items of a list of the actor, starting at an index`,
    mimeType: 'application/json',
  }
  const all = readable.has(itemsTemplate) ? [...declared, own] : declared
  const { items, ...page } = pageOf(deps.keyRing, call, all, ({ uriTemplate }) => uriTemplate)
  return complete({ resourceTemplates: items, ...page })
}
