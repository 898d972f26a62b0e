/** The forms for several properties: their export, and their deletion after a confirmation. */
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { Params } from '../../http/edge/params.ts'
import { type HttpResponse, jsonStream, jsonText } from '../../http/edge/response.ts'
import type { Access } from '../../property/access.ts'
import { fullPieces, fullView } from '../../property/full-json.ts'
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

/** The values and the items of lists as a file. Long lists are read while they are sent. */
async function exportSelected(
  { properties, listReader }: PropertyPageDeps,
  access: Access,
  names: readonly string[],
): Promise<HttpResponse> {
  const selected = new Set(names)
  const everything = await properties.everything(access)
  const part = {
    ...everything,
    shown: everything.shown.filter(({ name }) => selected.has(name)),
    lists: new Map([...everything.lists].filter(([name]) => selected.has(name))),
  }
  const whole = fullView(part)
  const answer =
    whole === null
      ? jsonStream(
          200,
          fullPieces(part, (name) => listReader.open(access, name)),
        )
      : jsonText(200, whole)
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
