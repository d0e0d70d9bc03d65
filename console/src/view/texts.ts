/** The texts of the page in one language. Placeholders are `{n}`, `{total}` and `{time}`. */
export interface Texts {
  readonly title: string
  readonly account: string
  readonly user: string
  readonly available: string
  readonly limits: string
  readonly noLimits: string
  readonly quota: string
  readonly cap: string
  readonly watched: string
  readonly shared: string
  readonly left: string
  readonly leftShared: string
  readonly more: string
  readonly ends: string
  readonly refusals: string
  readonly noRefusals: string
  readonly hour: string
  readonly reason: string
  readonly attempts: string
  readonly codes: Readonly<Record<'quota_exceeded' | 'no_active_quota' | 'quota_observed', string>>
  readonly usage: string
  readonly inAll: string
  readonly most: string
  readonly table: string
  readonly day: string
  readonly used: string
  readonly asOf: string
  readonly works: string
  readonly refresh: string
  readonly loading: string
  readonly shut: string
  readonly shutWhy: string
  readonly away: string
  readonly awayWhy: string
}

/** By language. */
export const TEXTS = {
  en: {
    title: 'What you have left',
    account: 'Account {n}',
    user: 'User {n}',
    available: 'can be sent now',
    limits: 'What limits you',
    noLimits: 'No quota is in force for you.',
    quota: 'Quota',
    cap: 'Limit',
    watched: 'Limit, only watched',
    shared: 'shared with others',
    left: '{n} of {total} left',
    leftShared: '{n} left for you',
    more: 'More from {time}',
    ends: 'Ends {time}',
    refusals: 'Last refusals',
    noRefusals: 'Nothing was refused in the last 31 days.',
    hour: 'Hour',
    reason: 'Reason',
    attempts: 'Attempts',
    codes: {
      quota_exceeded: 'Not enough was left',
      no_active_quota: 'No quota was in force',
      quota_observed: 'Sent, but above a watched limit',
    },
    usage: 'Used in the last 31 days',
    inAll: '{n} in all.',
    most: 'Most on {time}: {n}.',
    table: 'As a table',
    day: 'Day (UTC)',
    used: 'Used',
    asOf: 'As of {time}.',
    works: 'This link works until {time}.',
    refresh: 'Refresh',
    loading: 'Loading …',
    shut: 'This link does not open',
    shutWhy: 'It has ended, or a part of it is missing. Ask whoever gave it to you for a new one.',
    away: 'The service does not answer',
    awayWhy: 'Your link may be fine. Try again in a while.',
  },
  de: {
    title: 'Was Ihnen noch bleibt',
    account: 'Konto {n}',
    user: 'Benutzer {n}',
    available: 'können jetzt gesendet werden',
    limits: 'Was Sie begrenzt',
    noLimits: 'Für Sie gilt kein Kontingent.',
    quota: 'Kontingent',
    cap: 'Grenze',
    watched: 'Grenze, nur beobachtet',
    shared: 'mit anderen geteilt',
    left: 'noch {n} von {total}',
    leftShared: 'noch {n} für Sie',
    more: 'Mehr ab {time}',
    ends: 'Endet {time}',
    refusals: 'Letzte Ablehnungen',
    noRefusals: 'In den letzten 31 Tagen wurde nichts abgelehnt.',
    hour: 'Stunde',
    reason: 'Grund',
    attempts: 'Versuche',
    codes: {
      quota_exceeded: 'Es war nicht genug übrig',
      no_active_quota: 'Kein Kontingent war gültig',
      quota_observed: 'Gesendet, aber über einer beobachteten Grenze',
    },
    usage: 'Verbrauch der letzten 31 Tage',
    inAll: 'Insgesamt {n}.',
    most: 'Am meisten am {time}: {n}.',
    table: 'Als Tabelle',
    day: 'Tag (UTC)',
    used: 'Verbraucht',
    asOf: 'Stand: {time}.',
    works: 'Dieser Link gilt bis {time}.',
    refresh: 'Aktualisieren',
    loading: 'Wird geladen …',
    shut: 'Dieser Link öffnet nichts',
    shutWhy: 'Er ist abgelaufen, oder ein Teil von ihm fehlt. Bitten Sie um einen neuen, wo Sie ihn bekommen haben.',
    away: 'Der Dienst antwortet nicht',
    awayWhy: 'Ihr Link ist vielleicht in Ordnung. Versuchen Sie es später noch einmal.',
  },
  fr: {
    title: 'Ce qu’il vous reste',
    account: 'Compte {n}',
    user: 'Utilisateur {n}',
    available: 'peuvent être envoyés maintenant',
    limits: 'Ce qui vous limite',
    noLimits: 'Aucun quota n’est en vigueur pour vous.',
    quota: 'Quota',
    cap: 'Limite',
    watched: 'Limite, seulement observée',
    shared: 'partagé avec d’autres',
    left: 'reste {n} sur {total}',
    leftShared: 'reste {n} pour vous',
    more: 'Davantage à partir du {time}',
    ends: 'Se termine le {time}',
    refusals: 'Derniers refus',
    noRefusals: 'Rien n’a été refusé ces 31 derniers jours.',
    hour: 'Heure',
    reason: 'Raison',
    attempts: 'Tentatives',
    codes: {
      quota_exceeded: 'Il n’en restait pas assez',
      no_active_quota: 'Aucun quota n’était en vigueur',
      quota_observed: 'Envoyé, mais au-delà d’une limite observée',
    },
    usage: 'Utilisé ces 31 derniers jours',
    inAll: '{n} au total.',
    most: 'Maximum le {time} : {n}.',
    table: 'Sous forme de tableau',
    day: 'Jour (UTC)',
    used: 'Utilisé',
    asOf: 'État au {time}.',
    works: 'Ce lien fonctionne jusqu’au {time}.',
    refresh: 'Actualiser',
    loading: 'Chargement …',
    shut: 'Ce lien ne s’ouvre pas',
    shutWhy: 'Il a expiré, ou une partie manque. Demandez-en un nouveau à qui vous l’a donné.',
    away: 'Le service ne répond pas',
    awayWhy: 'Votre lien est peut-être bon. Réessayez dans un moment.',
  },
  es: {
    title: 'Lo que le queda',
    account: 'Cuenta {n}',
    user: 'Usuario {n}',
    available: 'se pueden enviar ahora',
    limits: 'Lo que le limita',
    noLimits: 'No hay ninguna cuota vigente para usted.',
    quota: 'Cuota',
    cap: 'Límite',
    watched: 'Límite, solo observado',
    shared: 'compartido con otros',
    left: 'quedan {n} de {total}',
    leftShared: 'quedan {n} para usted',
    more: 'Más a partir del {time}',
    ends: 'Termina el {time}',
    refusals: 'Últimos rechazos',
    noRefusals: 'No se rechazó nada en los últimos 31 días.',
    hour: 'Hora',
    reason: 'Motivo',
    attempts: 'Intentos',
    codes: {
      quota_exceeded: 'No quedaba suficiente',
      no_active_quota: 'No había ninguna cuota vigente',
      quota_observed: 'Enviado, pero por encima de un límite observado',
    },
    usage: 'Usado en los últimos 31 días',
    inAll: '{n} en total.',
    most: 'Máximo el {time}: {n}.',
    table: 'Como tabla',
    day: 'Día (UTC)',
    used: 'Usado',
    asOf: 'Datos del {time}.',
    works: 'Este enlace funciona hasta el {time}.',
    refresh: 'Actualizar',
    loading: 'Cargando …',
    shut: 'Este enlace no se abre',
    shutWhy: 'Ha caducado o le falta una parte. Pida uno nuevo a quien se lo dio.',
    away: 'El servicio no responde',
    awayWhy: 'Puede que su enlace esté bien. Inténtelo de nuevo dentro de un rato.',
  },
  pt: {
    title: 'O que ainda tem',
    account: 'Conta {n}',
    user: 'Utilizador {n}',
    available: 'podem ser enviados agora',
    limits: 'O que o limita',
    noLimits: 'Nenhuma quota está em vigor para si.',
    quota: 'Quota',
    cap: 'Limite',
    watched: 'Limite, apenas observado',
    shared: 'partilhado com outros',
    left: 'restam {n} de {total}',
    leftShared: 'restam {n} para si',
    more: 'Mais a partir de {time}',
    ends: 'Termina em {time}',
    refusals: 'Últimas recusas',
    noRefusals: 'Nada foi recusado nos últimos 31 dias.',
    hour: 'Hora',
    reason: 'Motivo',
    attempts: 'Tentativas',
    codes: {
      quota_exceeded: 'Não restava o suficiente',
      no_active_quota: 'Nenhuma quota estava em vigor',
      quota_observed: 'Enviado, mas acima de um limite observado',
    },
    usage: 'Usado nos últimos 31 dias',
    inAll: '{n} no total.',
    most: 'Máximo em {time}: {n}.',
    table: 'Como tabela',
    day: 'Dia (UTC)',
    used: 'Usado',
    asOf: 'Dados de {time}.',
    works: 'Esta ligação funciona até {time}.',
    refresh: 'Atualizar',
    loading: 'A carregar …',
    shut: 'Esta ligação não abre',
    shutWhy: 'Expirou, ou falta-lhe uma parte. Peça uma nova a quem lha deu.',
    away: 'O serviço não responde',
    awayWhy: 'A sua ligação pode estar boa. Tente de novo daqui a pouco.',
  },
} as const satisfies Record<string, Texts>

type Language = keyof typeof TEXTS

/** Returns the first of the browser's languages that the page has, with its region for numbers and times. */
export function chosenFrom(languages: readonly string[]): { readonly language: Language; readonly locale: string } {
  for (const locale of languages) {
    const language = locale.toLowerCase().split('-')[0]
    if (language !== undefined && language in TEXTS) return { language: language as Language, locale }
  }
  return { language: 'en', locale: 'en' }
}
