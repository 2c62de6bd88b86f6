# A replica that stops reading. It acknowledges the first transaction late.
#
#   perl half_replica.pl SOCKET USER LOG POSITION GO END
#
# The user has no password. Asks for the binary log LOG from POSITION, and reads until the source wants an
# acknowledgement. Then it reads no more. It sends the acknowledgement when the file GO is there, and leaves
# when END is.
use strict;
use warnings;
use IO::Socket::UNIX;

my ($path, $user, $log, $position, $go, $end) = @ARGV;
my $socket = IO::Socket::UNIX->new(Peer => $path) or die("$path: $!");

sub read_bytes {
  my ($length) = @_;
  my $bytes = '';
  while (length($bytes) < $length) {
    sysread($socket, $bytes, $length - length($bytes), length($bytes))
      or die('the server has closed the connection');
  }
  return $bytes;
}

sub read_packet {
  my ($low, $high, $number) = unpack('vCC', read_bytes(4));
  return read_bytes($low + ($high << 16));
}

sub send_packet {
  my ($number, $payload) = @_;
  syswrite($socket, pack('vCC', length($payload), 0, $number) . $payload);
}

sub expect_ok {
  my $answer = read_packet();
  die("no OK: $answer") if ord($answer) != 0;
}

sub wait_for {
  my ($file) = @_;
  select(undef, undef, undef, 0.05) until -e $file;
}

read_packet();
# LONG_PASSWORD, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH
send_packet(1, pack('V V C x23 Z* C Z*', 0x88201, 1 << 24, 255, $user, 0, 'caching_sha2_password'));
expect_ok();
send_packet(0, pack('C a*', 3, 'SET @source_binlog_checksum = @@global.binlog_checksum, '
                               . '@rpl_semi_sync_replica = 1'));
expect_ok();
# COM_BINLOG_DUMP
send_packet(0, pack('C V v V a*', 0x12, $position, 0, 4711, $log));

my $end_of_event;
while (!defined($end_of_event)) {
  # OK, the mark of semisynchronous replication, whether an acknowledgement is wanted, the header of an event
  my ($ok, $mark, $wanted, $time, $type, $server, $length, $event_end)
    = unpack('C C C V C V V V', read_packet());
  die('no event') if $ok != 0 || $mark != 0xef;
  $end_of_event = $event_end if $wanted;
}
wait_for($go);
send_packet(0, pack('C V V a*', 0xef, $end_of_event, 0, $log));
wait_for($end);
