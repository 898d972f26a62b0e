/** The forms for several properties: their export, and their deletion after a confirmation. */
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { Params } from '../../http/edge/params.ts'
import { type HttpResponse, jsonContent } from '../../http/edge/response.ts'
import type { Access } from '../../property/access.ts'
import { readFull } from '../../property/full-json.ts'
import { formRefusal, inputRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import { goOnUndoable, pageValues, showPage } from '../shared/page.ts'
import type { ListingQuery } from './listing.ts'
import { type PropertyPageDeps, showProperties } from './property-pages.ts'
import { selectedField } from './selection-field.ts'

type SelectionExchange = PageExchange<string, ListingQuery> & Bodied<Params>

export async function useSelection(deps: PropertyPageDeps, exchange: SelectionExchange): Promise<HttpResponse> {
  const sent = await exchange.body()
  const names = [...sent.entries.keys()].flatMap((name) =>
    name.startsWith(selectedField) ? [name.slice(selectedField.length)] : [],
  )
  const access = { actor: exchange.actor, caller: exchange.caller }
  return refusedOnPage(
    exchange,
    async () => {
      if (names.length === 0) throw inputRefusal('no property is selected', ({ properties }) => properties.noneSelected)
      switch (sent.get('action')) {
        case 'export':
          return exportSelected(deps, access, names)
        case 'delete':
          return confirmDeletion(deps, exchange, names)
        case 'confirm':
          await deps.properties.deleteNamed(access, names)
          return goOnUndoable(deps, exchange, sent, '/properties', 'deleted')
        default:
          throw formRefusal('the action is neither export, delete nor confirm')
      }
    },
    (error) => showProperties(deps, exchange, { error, typed: null }),
  )
}

/** The values and the items of lists as a file. What is too long for memory is read while it is sent. */
async function exportSelected(deps: PropertyPageDeps, access: Access, names: readonly string[]): Promise<HttpResponse> {
  const { content } = await readFull(deps, access, names)
  const answer = jsonContent(200, content)
  return { ...answer, headers: { ...answer.headers, 'Content-Disposition': 'attachment; filename="properties.json"' } }
}

async function confirmDeletion(
  deps: PropertyPageDeps,
  exchange: SelectionExchange,
  names: readonly string[],
): Promise<HttpResponse> {
  const values = await pageValues(deps, exchange, '/properties')
  const page = deps.pages.selection({
    ...values,
    names,
    undo_days: deps.history.isOn ? deps.config.historyDays : 0,
    form_action: `${values.actor_www}/selection`,
  })
  return showPage(deps, exchange, page)
}
