/** Shows the page of settings. */
import type { ActorActs } from '../../actor/acts.ts'
import type { MailPort } from '../../app/background/mail-port.ts'
import type { Config } from '../../config/options.ts'
import type { ServiceError } from '../../errors.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import type { QuotaUse } from '../../quota/quota.ts'
import type { Tokens } from '../../token/tokens.ts'
import type { Properties } from '../../property/properties.ts'
import type { Accounts } from '../../sign-in/accounts.ts'
import type { Account } from '../../sign-in/account-store.ts'
import type { Operators } from '../../sign-in/operators/operators.ts'
import type { Providers } from '../../sign-in/provider.ts'
import type { PageLanguage } from '../languages/language.ts'
import { preferencesOf, timeZones } from '../languages/preferences.ts'
import { pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { quotaRows } from './quotas.ts'
import type { View } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'
import { nameIn, nameProperty } from './display-name.ts'
import type { LanguageChoice, SettingsValues } from './values.ts'

export interface SettingsPageDeps extends PageDeps {
  readonly actorActs: ActorActs
  readonly accounts: Pick<Accounts, 'find'>
  readonly operators: Pick<Operators, 'nameOf'>
  readonly properties: Properties
  readonly providers: Providers
  readonly quotaUses: (actorId: string) => Promise<readonly QuotaUse[]>
  readonly tokens: Pick<Tokens, 'knows'>
  readonly mail: Pick<MailPort, 'isConnected' | 'setLanguage'>
  readonly config: Pick<Config, 'peerProfileAttributes'>
  readonly pages: {
    readonly settings: View<SettingsValues>
  }
}

/** The input of a refused form. */
export interface TypedSettings {
  readonly name?: string
  readonly confirmation?: string
}

export async function showSettings(
  deps: SettingsPageDeps,
  exchange: PageExchange,
  error: ServiceError | null = null,
  typed: TypedSettings = {},
): Promise<HttpResponse> {
  const { actor, caller, request } = exchange
  const [values, account, operator, uses, name] = await Promise.all([
    pageValues(deps, exchange, '/settings', error),
    deps.accounts.find(actor.id),
    deps.operators.nameOf(actor.id),
    deps.quotaUses(actor.id),
    deps.config.peerProfileAttributes.includes(nameProperty)
      ? deps.properties.getWithVersion({ actor, caller }, nameProperty)
      : null,
  ])
  const { language, timeZone } = preferencesOf(request)
  const page = deps.pages.settings({
    ...values,
    // A value that is not a text is on the page of properties.
    display_name: name === null ? null : nameIn(name.found),
    name_version: name?.version.whole ?? '',
    typed_name: typed.name ?? null,
    languages: deps.languages.offered.map(choiceOf),
    chosen_language: language ?? '',
    time_zones: timeZones,
    chosen_time_zone: timeZone ?? 'UTC',
    ...signInOf(deps.providers, account),
    operator_href: operator === null ? null : `${deps.basePath}/admin`,
    mail_href: deps.mail.isConnected ? `${values.actor_www}/mail` : null,
    quotas: quotaRows(uses),
    typed_confirmation: typed.confirmation ?? '',
    form_action: `${values.actor_www}/settings`,
  })
  return showPage(deps, exchange, page, error?.status)
}

/** A language, named in that language. */
function choiceOf({ tag }: PageLanguage): LanguageChoice {
  return { value: tag, label: new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? tag }
}

function signInOf(
  { all }: Providers,
  account: Account | null,
): Pick<SettingsValues, 'email' | 'provider' | 'is_verified'> {
  const { oauth_provider: kind, email } = account?.fields ?? {}
  const provider = all.find(({ name }) => name === kind)
  return {
    email: email === undefined ? null : visible(email),
    is_verified: account?.verified ?? false,
    provider: kind === undefined ? null : (provider?.displayName ?? kind),
  }
}
