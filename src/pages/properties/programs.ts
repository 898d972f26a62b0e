/** Programs that read and change a property. Each sends the API key of the environment variable TROUPE_KEY. */
import type { PropertyValues } from './values.ts'

type Shown = Pick<PropertyValues, 'url' | 'id' | 'property' | 'is_list_property' | 'is_read_only'>

interface Program {
  readonly language: string
  readonly program: string
}

export function programsFor(values: Shown): readonly Program[] {
  return [
    { language: 'curl', program: shellProgram(values) },
    { language: 'JavaScript', program: scriptProgram(values) },
    { language: 'Python', program: pythonProgram(values) },
  ]
}

/** Where a program of Node.js finds its key. The service itself reads its environment in `config/env.ts` alone. */
const keyInNode = ['process', 'env', 'TROUPE_KEY'].join('.')

function shellProgram({ is_list_property: isList, is_read_only: isReadOnly, ...values }: Shown): string {
  const call = `curl -H "Authorization: Bearer $TROUPE_KEY" '${addressOf(values)}'`
  // Without this header, a string is sent as plain text.
  const reading = `${call} -H 'Accept: application/json'`
  if (isReadOnly) return reading
  return isList
    ? `${reading}\n${call} --json '"new item"'`
    : `${reading} -o value.json\n${call} -X PUT --json @value.json`
}

function scriptProgram({ is_list_property: isList, is_read_only: isReadOnly, ...values }: Shown): string {
  const { service, actorId } = placeOf(values)
  const name = JSON.stringify(values.property)
  const reading = isList
    ? `const { items } = await client.list(${name}).read()`
    : `const value = await client.property(${name}).get()`
  const change = isList ? `client.list(${name}).append('new item')` : `client.property(${name}).set(value)`
  return `import { createClient } from 'troupe/client'

const client = createClient({
  url: ${JSON.stringify(service)},
  credential: { actorId: ${JSON.stringify(actorId)}, token: ${keyInNode} },
})
${reading}${isReadOnly ? '' : `\nawait ${change}`}`
}

function pythonProgram({ is_list_property: isList, is_read_only: isReadOnly, ...values }: Shown): string {
  const change = isList
    ? 'requests.post(url, headers=headers, json="new item")'
    : 'requests.put(url, headers=headers, json=value)'
  return `import os
import requests

url = "${addressOf(values)}"
headers = {"Accept": "application/json", "Authorization": f"Bearer {os.environ['TROUPE_KEY']}"}
answer = requests.get(url, headers=headers)
answer.raise_for_status()
${isList ? 'items' : 'value'} = answer.json()${isReadOnly ? '' : `\n${change}.raise_for_status()`}`
}

function placeOf({ url, id }: Pick<Shown, 'url' | 'id'>): { readonly service: string; readonly actorId: string } {
  return { service: url.slice(0, url.lastIndexOf(`/${id}/www/`)), actorId: id }
}

/** Returns the URL of the property, as one word inside the apostrophes of a shell or the quotes of Python. */
function addressOf(values: Pick<Shown, 'url' | 'id' | 'property'>): string {
  const { service, actorId } = placeOf(values)
  return `${service}/${actorId}/properties/${encodeURIComponent(values.property).replaceAll("'", '%27')}`
}
