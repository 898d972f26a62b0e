/** View of `/<actor>/www/settings`. */
import { html } from 'hono/html'
import { icon } from '../shared/icons.ts'
import type { Messages } from '../languages/language.ts'
import { avatar } from '../shared/avatar.ts'
import { formField, selectField, verbatim } from '../shared/form-field.ts'
import { hiddenFields, signInAgain } from '../shared/forms.ts'
import { actorPage, forgeryField, type PageContext } from '../shared/layout.ts'
import { quotaCard } from './quotas.ts'
import type { Html } from '../shared/values.ts'
import type { SettingsValues } from './values.ts'

type Words = Messages['settings']

export function settingsPage(values: SettingsValues, context: PageContext): Html {
  const { settings: words, navigation } = context.messages
  const { error_field } = values
  return actorPage(
    values,
    {
      ...context,
      title: navigation.settings,
      section: '/settings',
      wrongField: error_field === 'confirmation' || error_field === 'display_name' ? error_field : null,
    },
    html`
<h1>${navigation.settings}</h1>
${profile(values, words)}
${appearance(values, words)}
${signIn(values, context.messages)}
${quotaCard(values.quotas, context.messages)}
${transfer(values, context.messages)}
${deletion(values, context.messages)}`,
  )
}

function profile(values: SettingsValues, words: Words): Html {
  const { display_name: name, typed_name: typed, creator, id, actor_www } = values
  return html`<section class="card" aria-labelledby="profile"><h2 id="profile">${words.profile}</h2>
<p class="person">${avatar(id, creator)} <span>${creator}</span></p>
${
  name === null
    ? html`<p class="fine"><a href="${actor_www}/properties">${words.nameElsewhere}</a></p>`
    : html`<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'name', version: values.name_version })}
${formField({
  id: 'display_name',
  name: 'display_name',
  label: words.name,
  value: typed ?? name,
  hint: words.nameHint,
  error: values.error_field === 'display_name' ? values.error : null,
  attributes: { autocomplete: 'name' },
})}
<button type="submit">${words.saveName}</button></form>`
}</section>`
}

function appearance(values: SettingsValues, words: Words): Html {
  const { languages, theme, time_zones } = values
  const themes = [
    ['', words.browserTheme],
    ['light', words.light],
    ['dark', words.dark],
  ] as const
  return html`<section class="card" aria-labelledby="appearance"><h2 id="appearance">${words.appearance}</h2>
<p class="fine">${words.appearanceText}</p>
<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'appearance' })}
${selectField({ id: 'language', name: 'language', label: words.language, value: values.chosen_language }, [
  { value: '', label: words.browserLanguage },
  ...languages,
])}
<fieldset><legend>${words.theme}</legend>${themes.map(
    ([value, label]) =>
      html`<label class="choice"><input type="radio" name="theme" value="${value}"${(theme ?? '') === value ? html` checked` : ''}> ${label}</label>`,
  )}</fieldset>
${selectField(
  { id: 'time_zone', name: 'time_zone', label: words.timeZone, value: values.chosen_time_zone },
  time_zones.map((zone) => ({ value: zone, label: zone.replaceAll('_', ' ') })),
)}
<button type="submit">${words.saveAppearance}</button></form></section>`
}

function signIn(values: SettingsValues, { settings: words, mail }: Messages): Html {
  const { provider, email, is_verified, actor_www } = values
  return html`<section class="card" aria-labelledby="sign-in"><h2 id="sign-in">${words.signIn}</h2>
<p>${provider === null ? words.byPassphrase : words.byProvider(provider)}</p>
${email === null ? '' : html`<p>${is_verified ? words.verifiedEmail(email) : words.unverifiedEmail(email)}</p>`}
<p class="fine"><a href="${actor_www}/passkeys">${words.passkeysLink}</a></p>
<p class="fine"><a href="${actor_www}/apps#sessions">${words.devicesLink}</a></p>
${values.mail_href === null ? '' : html`<p class="fine"><a href="${values.mail_href}">${mail.choices}</a></p>`}
${values.operator_href === null ? '' : html`<p class="fine"><a href="${values.operator_href}">${words.operatorLink}</a></p>`}</section>`
}

function transfer({ actor_www, fresh_href }: SettingsValues, messages: Messages): Html {
  const { settings: words } = messages
  return html`<section class="card" aria-labelledby="export"><h2 id="export">${words.export}</h2>
<p>${words.exportText}</p>
${fresh_href === null ? html`<p><a class="button" href="${actor_www}/export" download>${icon('download')} ${words.exportButton}</a></p>` : signInAgain(fresh_href, messages)}</section>
<section class="card" aria-labelledby="import"><h2 id="import">${words.import}</h2>
<p>${words.importText}</p>
<p><a class="button" href="${actor_www}/import">${words.importLink}</a></p></section>
<section class="card" aria-labelledby="move"><h2 id="move">${words.move}</h2>
<p>${words.moveText}</p>
<p><a class="button" href="${actor_www}/move">${words.moveLink}</a></p></section>`
}

/** The form stays open after a refused attempt. */
function deletion(values: SettingsValues, messages: Messages): Html {
  const { settings: words } = messages
  const isWrong = values.error_field === 'confirmation'
  const { fresh_href } = values
  return html`<section class="card" aria-labelledby="delete"><h2 id="delete">${words.deletion}</h2>
<p>${words.deletionText}</p>
${fresh_href === null ? deletionForm(values, words, isWrong) : signInAgain(fresh_href, messages)}</section>`
}

function deletionForm(values: SettingsValues, words: Words, isWrong: boolean): Html {
  return html`<details class="fold"${isWrong ? html` open` : ''}><summary>${words.deletionFold}</summary>
<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'delete' })}
${formField({
  id: 'confirmation',
  name: 'confirmation',
  label: words.confirm(values.creator),
  value: values.typed_confirmation,
  error: isWrong ? values.error : null,
  attributes: { ...verbatim, required: true },
})}
<button class="danger" type="submit">${words.deleteButton}</button></form></details>`
}
