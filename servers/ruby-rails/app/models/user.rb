class User < ApplicationRecord
  CAESAR = (0..255).map { |byte| byte.chr.tr("A-Za-z", "O-ZA-No-za-n").ord }.freeze
  private_constant :CAESAR

  # As objects for `GET /users`.
  def self.list
    order(:id).pluck(:id, :username, :name, :sex, :address, :mail, :birthdate).map do |id, username, name, sex, address, mail, born|
      { id: id, username: username, name: name, sex: sex, address: caesar(address), mail: mail,
        birthdate: born.strftime("%Y-%m-%dT%H:%M:%S.%LZ") }
    end
  end

  # Byte by byte, since in UTF-8 no byte of another letter is one of A–Z or a–z.
  def self.caesar(text)
    text.dup.tap { |copy| copy.bytesize.times { |at| copy.setbyte(at, CAESAR[copy.getbyte(at)]) } }
  end
  private_class_method :caesar
end
